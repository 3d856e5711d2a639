"""A dict that a call is handed, fills and hands back: `info = forward(model, batch, info)`.

The name stands for the same dict as before. What is known of its entries one by one stays, with those that the call has
put in; what has come out of the call would be all of them at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.project.options import passed

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def is_same(frame: Frame, name: str, value: f.Expr) -> bool:
    """Whether what a name is assigned is the dict that it has stood for already."""
    if type(value) is not f.Call or not any(_is(arg, name) for arg in (*value.args, *(v for _, v in value.keywords))):
        return False
    target = frame.ask(value.func).target
    if type(target) is not FunctionTarget or target.function.decorators:
        return False
    function, receiver = target.function, target.receiver is not None
    if function.is_generator or function.is_async:
        return False
    own = [p.name for p in function.parameters if _is(passed(value, function, receiver, p.name), name)]
    return any(_fills_and_returns(function.body, parameter) for parameter in own)


def _fills_and_returns(body: f.Body, parameter: str) -> bool:
    """Whether a function puts something under a written key of a parameter, and hands back nothing else."""
    last = body[-1] if body else None
    if type(last) is not f.Return:
        return False
    fills = False
    for s in statements(body):
        if type(s) is f.Return and not _is(s.value, parameter):
            return False
        for target in _targets(s):
            if _binds(target, parameter):
                return False
            fills = fills or _is_entry(target, parameter)
    return fills


def _is_entry(target: f.Expr, name: str) -> bool:
    """`name["a"]`, and `name["a"]["b"]`."""
    while type(target) is f.Subscript and type(target.index) is f.Const:
        target = target.base
        if _is(target, name):
            return True
    return False


def _targets(s: f.Stmt) -> tuple[f.Expr, ...]:
    if type(s) is f.Assign:
        return s.targets
    if type(s) is f.With:
        return tuple([target for _, target in s.items if target is not None])
    return (s.target,) if type(s) is f.AugAssign or type(s) is f.For else ()


def _binds(target: f.Expr, name: str) -> bool:
    if type(target) is f.Starred:
        return _binds(target.value, name)
    return _is(target, name) or (type(target) is f.Sequence and any(_binds(x, name) for x in target.elements))


def _is(expr: f.Expr | None, name: str) -> bool:
    return type(expr) is f.Name and expr.id == name
