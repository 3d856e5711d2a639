"""Calls that draw the next item for their caller: `get_batch = lambda: next(data_iter)`, and functions and methods that
do something with what they have drawn. The end of the data is an exception that they let through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.project.options import passed

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

_MEETS = re.compile(r"barrier|reduce|gather|broadcast")
#: calls through which the end of an iterator is followed
DEEPEST = 2


class Draw(NamedTuple):
    """A call of a block, and what it takes an item of, as that is named there; `by_next`: with `next`."""

    call: f.Call
    taken: f.Expr
    by_next: bool


def draws(frame: Frame, body: f.Body) -> Iterator[Draw]:
    """The calls of a block that take an item of something, or are given first what they may take one of."""
    for node in walk(body):
        if type(node) is not f.Call:
            continue
        if node.args:
            yield Draw(node, node.args[0], last_name(node.func) == "next")
        if last_name(node.func) != "next" and (helper := _helper(frame, node)) is not None:
            named = (_named_here(frame, node, helper, taken) for taken in _taken(frame, helper, DEEPEST))
            yield from (Draw(node, taken, True) for taken in named if taken is not None)


def _helper(frame: Frame, call: f.Call) -> FunctionTarget | None:
    """The function of the project that a call by a name, or by one of the own instance, is of."""
    own = type(call.func) is f.Attr and type(call.func.base) is f.Name and call.func.base.id == frame.self_name
    if not own and type(call.func) is not f.Name:
        return None
    target = frame.ask(call.func).target
    if type(target) is not FunctionTarget or target.function.is_generator or target.function.is_async:
        return None
    return None if target.function.decorators else target


def _taken(frame: Frame, target: FunctionTarget, depth: int) -> Iterator[f.Expr]:
    """What a function takes items of, as it is named there, and does not look for the end of."""
    function = target.function
    if any(type(s) is f.Try or type(s) is f.Raise for s in statements(function.body)):
        return  # it sees to the end itself
    if any(type(node) is f.Call and _MEETS.search(last_name(node.func)) for node in walk(function.body)):
        return  # and may agree on it with the others
    for node in walk(function.body):
        if type(node) is f.Call and last_name(node.func) == "next" and len(node.args) == 1:
            yield node.args[0]
        elif type(node) is f.Call and depth > 1 and (inner := _own_method(frame, function, node)) is not None:
            yield from (taken for taken in _taken(frame, inner, depth - 1) if _root(taken) == _self(function))


def attributes_of(frame: Frame, method: FunctionInfo) -> list[str]:
    """The attributes of the instance that a method takes items of, and does not look for the end of."""
    own = _self(method)
    taken = [place_name(one).split(".") for one in _taken(frame, FunctionTarget(method), DEEPEST)]
    return sorted({parts[1] for parts in taken if len(parts) == 2 and parts[0] == own})


def _own_method(frame: Frame, function: FunctionInfo, call: f.Call) -> FunctionTarget | None:
    """The method of the same instance that a method calls."""
    func, owner = call.func, function.module.classes.get(function.owner or "")
    if owner is None or type(func) is not f.Attr or type(func.base) is not f.Name or func.base.id != _self(function):
        return None
    method = frame.analysis.names.method(owner, func.attr)
    return FunctionTarget(method) if method is not None and _self(method) == _self(function) else None


def _self(function: FunctionInfo) -> str:
    return function.parameters[0].name if function.owner is not None and function.parameters else ""


def _root(expr: f.Expr) -> str:
    return place_name(expr).partition(".")[0]


def _named_here(frame: Frame, call: f.Call, target: FunctionTarget, taken: f.Expr) -> f.Expr | None:
    """What a helper takes items of, as its caller names it."""
    function, root = target.function, _root(taken)
    if root and root == _self(function):
        return taken if root == frame.self_name else None
    if any(parameter.name == root for parameter in function.parameters):
        return passed(call, function, function.owner is not None, root) if type(taken) is f.Name else None
    # what a function that is defined here finds around it
    return taken if root and target.closure is frame else None
