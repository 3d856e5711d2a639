"""Tensors that are certainly in one piece: what a rank has made itself, and its own part of one in parts.

`full_tensor(x)` of a helper that asks `isinstance(x, DTensor)` issues nothing for these: `item(to_local(counts))`.
Tensors in parts and others do not mix, so what is computed of one in one piece is in one piece.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import dotted_name, last_name, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: what takes a rank's own part, all of it, or numbers out of a tensor, by its name
_TAKES_OUT = frozenset({"to_local", "full_tensor", "item", "tolist", "numpy"})
#: what makes a tensor of the rank's own
_MAKES = frozenset(f"torch.{name}" for name in "tensor as_tensor arange linspace eye from_numpy randperm".split())
#: what puts tensors in parts, of those that it is called on
_IN_PARTS = frozenset({"redistribute", "distribute", "shard"})
#: operators that take tensors, on either side
_OF_TENSORS = frozenset("Add Sub Mult Div FloorDiv Mod Pow BitAnd BitOr BitXor MatMult".split())


def all_are(frame: Frame, call: f.Call) -> bool:
    """Whether all that a call is given, at least one thing, is in one piece."""
    given = (*call.args, *(value for _, value in call.keywords))
    return bool(given) and all(_is_one(frame, e, frozenset()) for e in given)


def _is_one(frame: Frame, e: f.Expr, asked: frozenset[str]) -> bool:
    if type(e) is f.Name:
        return e.id in asked or _is_bound_to_one(frame, e.id, asked | {e.id})
    if type(e) is f.Call:
        if last_name(e.func) in _TAKES_OUT or dotted_name(e.func) in _MAKES:
            return True
        return type(e.func) is f.Attr and e.func.attr not in _IN_PARTS and _is_one(frame, e.func.base, asked)
    if type(e) is f.Subscript:
        return _is_one(frame, e.base, asked)
    if type(e) is f.Compare:
        return any(_is_one(frame, x, asked) for x in (e.left, *e.rights))
    return type(e) is f.Op and e.kind in _OF_TENSORS and any(_is_one(frame, x, asked) for x in e.operands)


def _is_bound_to_one(frame: Frame, name: str, asked: frozenset[str]) -> bool:
    """Whether all that a function assigns to a name, and nothing else binds it, is in one piece; what is added to that
    leaves it so."""
    function = frame.function
    if function is None or any(p.name == name for p in function.parameters):
        return False
    values: list[f.Expr] = []
    for s in statements(function.body):
        if type(s) is f.Assign and s.value is not None and all(type(t) is f.Name for t in s.targets):
            values += [s.value for t in s.targets if type(t) is f.Name and t.id == name]
        elif type(s) is not f.AugAssign and name in variables(_binds(s)):
            return False
    return bool(values) and all(_is_one(frame, value, asked) for value in values)


def _binds(s: f.Stmt) -> tuple[object, ...]:
    """The parts of a statement that bind names, but for assignments to single names."""
    if type(s) is f.Assign:
        return s.targets
    if type(s) is f.For:
        return (s.target,)
    if type(s) is f.With:
        return tuple(target for _, target in s.items if target is not None)
    return (s.targets,) if type(s) is f.Delete else ()
