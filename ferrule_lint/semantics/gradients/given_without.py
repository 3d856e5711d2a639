"""Parameters of a loss that nothing is trained through, whatever they are called: all callers in the project give what
has no gradient.

That is what is made under `no_grad`, what is detached, and a list of such things, which may be handed on item by item
(`multi_apply(self.loss_single, scores, overlaps)`, `map(loss_of, scores, weights)`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, stands_in, statements
from ferrule_lint.semantics.domain.assigned import given
from ferrule_lint.semantics.domain.text import called_name, last_name, variables
from ferrule_lint.semantics.gradients.shared_by_callers import means
from ferrule_lint.semantics.project.entities import WITHOUT_GRADIENT
from ferrule_lint.semantics.project.options import passed

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo

#: names that a value is followed over
_DEEPEST = 3
#: what hands out a tensor without a gradient
_WITHOUT = frozenset("detach detach_ zeros_like ones_like new_zeros new_ones new_full argmax argsort".split())
_FILLS = frozenset({"append", "extend"})


def is_given_without(analysis: Analysis, function: FunctionInfo, name: str) -> bool:
    """Whether somebody in the project calls a function, and whoever does gives a parameter without a gradient."""
    found = False
    for module in analysis.names.mentioning(function.name):
        for owner, calls in module.calls():
            for call in calls:
                straight = _straight(call, function.name)
                if straight is None:
                    continue
                if owner is None or not means(analysis, function, module, owner, straight):
                    if function.owner is None:
                        return False  # by another name, or at the top of a file
                    continue  # a method of another class
                value = passed(straight, function, function.owner is not None, name)
                if value is None or not _has_none(owner, value, straight, _DEEPEST):
                    return False
                found = True
    return found


def _straight(call: f.Call, name: str) -> f.Call | None:
    """A call of a function by its name, also by way of something that hands on what it is given, in turn:
    `multi_apply(self.f, xs, ys)` gives `f` what `self.f(xs, ys)` does, or the items of it."""
    if last_name(call.func) == name:
        return call
    at = next((i for i, a in enumerate(call.args) if last_name(a) == name), None)
    return None if at is None else f.Call(call.args[at], call.args[at + 1 :], call.keywords, call.pos)


def _has_none(owner: FunctionInfo, value: f.Expr, call: f.Call, depth: int) -> bool:
    """Whether what is given in a call has no gradient."""
    if owner.turns_gradients_off or any(stands_in(call, block) for block in _blocks_without(owner.body)):
        return True
    if type(value) is f.Call:
        return last_name(value.func) in _WITHOUT
    if type(value) is not f.Name or depth == 0 or any(p.name == value.id for p in owner.parameters):
        return False
    inside = [s for block in _blocks_without(owner.body) for s in statements(block)]
    own = [(v, any(s is one for one in inside)) for s in statements(owner.body) for v in _put_into(s, value.id)]
    told = [(v, without) for v, without in own if not _is_empty(v)]
    bound = any(type(s) is f.For and value.id in variables(s.target) for s in statements(owner.body))
    return bool(told) and not bound and all(without or _has_none(owner, v, call, depth - 1) for v, without in told)


def _blocks_without(body: f.Body) -> Iterator[f.Body]:
    """The blocks in a body that run without gradients."""
    for s in body:
        if type(s) is f.With and any(called_name(item) in WITHOUT_GRADIENT for item, _ in s.items):
            yield s.body
        else:
            for block in blocks(s):
                yield from _blocks_without(block)


def _put_into(s: f.Stmt, name: str) -> Iterator[f.Expr]:
    """What a statement gives a variable, or adds to the list that it holds."""
    for target, value in given(s):
        pairs = [(target, value)]
        if type(target) is f.Sequence and type(value) is f.Sequence and len(target.elements) == len(value.elements):
            pairs = list(zip(target.elements, value.elements, strict=True))
        yield from (v for t, v in pairs if name in _names(t))
    if type(s) is f.AugAssign and name in _names(s.target):
        yield s.value
    call = s.value if type(s) is f.ExprStmt else None
    if (
        type(call) is f.Call
        and type(call.func) is f.Attr
        and call.func.attr in _FILLS
        and name in _names(call.func.base)
    ):
        yield from call.args


def _names(target: f.Expr) -> frozenset[str]:
    """The variables that are set by way of a target: of `xs[mask] = 0` what is in `xs` changes."""
    while type(target) is f.Subscript:
        target = target.base
    return frozenset(variables(target))


def _is_empty(value: f.Expr) -> bool:
    return type(value) is f.Sequence and not value.elements
