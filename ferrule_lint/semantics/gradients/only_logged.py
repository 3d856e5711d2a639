"""What a function hands back beside the loss, and its callers only log: `loss, bce = self.terms(out)`, `float(bce)`.

A constant there in place of a term is no concern of the gradients: nobody runs the backward pass of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.reach import Partly, Reach
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.gradients.shared_by_callers import means
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: what takes the number, or what is in it, out of a tensor, and what is of it without a gradient
_NUMBERS = frozenset({"float", "int", "round"})
_TAKES_OUT = frozenset({"detach", "item", "tolist", "data"})


def left_out(frame: Frame, result: Value) -> Value:
    """What a function returns, without what reaches on some ranks only those items that all callers only log."""
    function = frame.function
    tuples = [value.items for value, _ in frame.returns if value.items is not None and len(value.items) > 1]
    if function is None or (result.reach is None and result.items is None) or not tuples:
        return result
    partly = [frozenset[Partly]().union(*(_partly(items, i) for items in tuples)) for i in range(max(map(len, tuples)))]
    if result.items is not None:
        partly = [own | _partly(result.items, i) for i, own in enumerate(partly)]
    asked = [i for i, own in enumerate(partly) if own]
    if not asked:
        return result
    logged = [i for i in asked if _is_only_logged(frame, function, i)]
    if not logged:
        return result
    kept = {(p.output, p.at) for i, own in enumerate(partly) if i not in logged for p in own}
    gone = {(p.output, p.at) for i in logged for p in partly[i]} - kept
    items = result.items
    if items is not None:
        items = tuple([_without(item, gone) if i in logged else item for i, item in enumerate(items)])
    return _without(result, gone)._replace(items=items)


def _partly(items: tuple[Value, ...], i: int) -> frozenset[Partly]:
    reach = items[i].reach if i < len(items) else None
    return reach.partly if reach is not None else frozenset()


def _without(value: Value, gone: set[tuple[str, f.Pos | None]]) -> Value:
    reach = value.reach
    if reach is None or not reach.partly:
        return value
    partly = frozenset(p for p in reach.partly if (p.output, p.at) not in gone)
    return value._replace(reach=Reach(reach.outputs, partly, reach.at))


def _is_only_logged(frame: Frame, function: FunctionInfo, index: int) -> bool:
    """Whether somebody calls a function, and whoever does takes what it returns apart and only logs one of the items.
    Who takes it as one thing means a `return` of one thing, where there is such."""
    returned = [s.value for s in statements(function.body) if type(s) is f.Return]
    has_single = any(type(value) is not f.Sequence for value in returned)
    found = False
    for module in frame.analysis.names.mentioning(function.name):
        for owner, calls in module.calls():
            for call in calls:
                if owner is None or last_name(call.func) != function.name or is_test(module.path):
                    continue
                if not means(frame.analysis, function, module, owner, call):
                    return False
                target = _target(owner.body, call)
                if type(target) is f.Name and has_single:
                    continue
                if type(target) is not f.Sequence or index >= len(target.elements):
                    return False
                name = target.elements[index]
                if type(name) is not f.Name or not _is_logged(owner.body, name.id):
                    return False
                found = True
    return found


def _target(body: f.Body, call: f.Call) -> f.Expr | None:
    """What the result of a call is assigned to."""
    for s in statements(body):
        if type(s) is f.Assign and s.value is call and len(s.targets) == 1:
            return s.targets[0]
    return None


def _is_logged(body: f.Body, name: str) -> bool:
    """Whether nothing of a name is used but its number, or what it is without its gradient."""
    set_to = [t for s in statements(body) if type(s) is f.Assign for t in s.targets]
    total = _uses(body, name) - _uses(tuple(set_to), name)
    logged = 0
    for node in walk(body):
        if type(node) is f.Attr and node.attr in _TAKES_OUT and type(node.base) is f.Name and node.base.id == name:
            logged += 1
        elif type(node) is f.Call and last_name(node.func) in _NUMBERS:
            logged += sum(type(a) is f.Name and a.id == name for a in node.args)
    return total == logged


def _uses(node: object, name: str) -> int:
    return sum(type(inner) is f.Name and inner.id == name for inner in walk(node))
