"""Groups that are one of several which a loop makes, one for each block of ranks: this rank keeps its own.

```python
for i in range(world_size // size):
    group = dist.new_group(range(i * size, (i + 1) * size))
    if rank // size == i:
        mine = group
```

A rank that is written out is a member of one of them only. A function may hand its group back, and an attribute or a
variable of a module keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, under_tests, walk
from ferrule_lint.semantics.domain.text import last_name, place_name, variables
from ferrule_lint.semantics.groups.all_ranks import Scope
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, GlobalName

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_DEEPEST = 4
_NONE = f.Const("None")


def is_one(frame: Frame, group: f.Expr) -> bool:
    """Whether a group is this rank's own of those that a loop makes, wherever the project makes it."""
    scope = Scope(frame.analysis, frame.module, frame.function)
    if type(group) is f.Attr:
        variable = frame.analysis.names.resolve(group, frame.module)
        if type(variable) is GlobalName:
            return _is_set_to_one(scope, variable, 0)
        with frame.recording():
            types = frame.eval(group.base).types
        own = frozenset({frame.self_class}) if frame.self_class and place_name(group.base) == frame.self_name else types
        return len(own) == 1 and _is_kept(scope, next(iter(own)), group.attr, 0)
    return _is_one(scope, group, 0)


def _is_one(scope: Scope, expr: f.Expr, depth: int) -> bool:
    if depth > _DEEPEST:
        return False
    if type(expr) is f.Name:
        made = scope.assigned(expr.id)
        if made:
            return expr.id in set(_kept_in_loops(scope)) or all(_is_one(scope, value, depth + 1) for value in made)
        variable = scope.analysis.names.resolve(expr, scope.module) if not scope.has_parameter(expr.id) else None
        return type(variable) is GlobalName and _is_set_to_one(scope, variable, depth)
    made_of = scope.analysis.names.resolve(expr.func, scope.module) if type(expr) is f.Call else None
    if type(made_of) is not FunctionInfo:
        return False
    there = Scope(scope.analysis, made_of.module, made_of)
    handed = [s.value for s in statements(made_of.body) if type(s) is f.Return and s.value not in (None, _NONE)]
    return bool(handed) and all(value is not None and _is_one(there, value, depth + 1) for value in handed)


def _is_set_to_one(scope: Scope, variable: GlobalName, depth: int) -> bool:
    """The same of a module's variable, which functions set."""
    module = variable.module
    if any(value != _NONE for value in module.assigned(variable.name)):
        return False
    made = [Scope(scope.analysis, module, function) for function in module.rebinders(variable.name)]
    made = [there for there in made if there.assigned(variable.name)]
    return bool(made) and all(_is_one(there, f.Name(variable.name, (0, 0, 0, 0)), depth + 1) for there in made)


def _is_kept(scope: Scope, info: ClassInfo, name: str, depth: int) -> bool:
    """The same of an attribute, which methods of its class set."""
    found = False
    for owner in scope.analysis.names.mro(info):
        for method in owner.methods.values():
            own = method.parameters[0].name if method.parameters and not method.is_static else ""
            there = Scope(scope.analysis, method.module, method)
            place = f"{own}.{name}"
            values = there.assigned(place) if own else []
            kept = bool(values) and place in set(_kept_in_loops(there))
            if not kept and not all(_is_one(there, value, depth + 1) for value in values):
                return False
            found = found or bool(values)
    return found


def _kept_in_loops(scope: Scope) -> Iterator[str]:
    """The places in which a function keeps, under a test, a group that a round of a loop has made of ranks which the
    round tells."""
    for loop in statements(scope.function.body if scope.function is not None else ()):
        if type(loop) is not f.For:
            continue
        made = set(_made_in(loop))
        for s, tests in under_tests(loop.body) if made else ():
            if type(s) is f.Assign and tests and (place_name(s.value) in made if s.value is not None else False):
                yield from filter(None, map(place_name, s.targets))


def _made_in(loop: f.For) -> Iterator[str]:
    """The names of groups that a round of a loop makes, of ranks which it tells."""
    assigned = [s for s in statements(loop.body) if type(s) is f.Assign and s.value is not None]
    told = set(variables(loop.target))
    while more := {name for s in assigned if told & variables(s.value) for name in variables(s.targets)} - told:
        told |= more
    for s in assigned:
        call = s.value
        if type(call) is f.Call and last_name(call.func) == "new_group":
            ranks = next((value for name, value in call.keywords if name == "ranks"), next(iter(call.args), None))
            if ranks is not None and told & variables(ranks) and not _names_a_rank(ranks, assigned):
                yield from (t.id for t in s.targets if type(t) is f.Name)


def _names_a_rank(ranks: f.Expr, assigned: list[f.Assign]) -> bool:
    """Whether ranks of a group are written out, which each of the groups may have: `[0, i]`."""
    named = variables(ranks)
    made = [s.value for s in assigned if s.value is not None and variables(s.targets) & named]
    lists = [node for e in (ranks, *made) for node in walk(e) if type(node) is f.Sequence]
    return any(type(element) is f.Const for each in lists for element in each.elements)
