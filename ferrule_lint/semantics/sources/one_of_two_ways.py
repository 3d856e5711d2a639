"""Inputs for which a method goes another way, and without which it insists on another input.

`if images is not None: return encode(images)`, and then `if not views: raise`: who evaluates passes images, and who
trains passes views, on all ranks. What one batch has is not what decides.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import plain
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.project.entities import FunctionInfo

_NONE = f.Const("None")


def is_for_one(function: FunctionInfo, name: str) -> bool:
    """Whether a function returns early where it is given an optional input, and otherwise has to be given another."""
    optional = {p.name for p in function.parameters if p.default == _NONE}
    if name not in optional:
        return False
    body = plain(function.body)
    for i, s in enumerate(body):
        if type(s) is f.If and s.body and type(s.body[-1]) is f.Return and name in _is_there(s.test):
            return any(_insists(t, optional - {name}) for t in statements((*s.orelse, *body[i + 1 :])))
    return False


def _insists(s: f.Stmt, names: set[str]) -> bool:
    """`if not views: raise`, `if a is None or b is None: raise`; `elif views is not None: ...`, `else: raise`."""
    if type(s) is not f.If:
        return False
    if _raises(s.body) and not names.isdisjoint(_is_missing(s.test)):
        return True
    return _raises(s.orelse) and not names.isdisjoint(_is_there(s.test))


def _raises(arm: f.Body) -> bool:
    return bool(arm) and type(arm[-1]) is f.Raise


def _is_there(test: f.Expr) -> set[str]:
    """The names of which a test asks whether they are there."""
    return {
        part.left.id
        for part in walk(test)
        if type(part) is f.Compare and part.ops == ("is not",) and part.rights == (_NONE,) and type(part.left) is f.Name
    }


def _is_missing(test: f.Expr) -> set[str]:
    found = {part.operand.id for part in walk(test) if type(part) is f.Not and type(part.operand) is f.Name}
    return found | {
        part.left.id
        for part in walk(test)
        if type(part) is f.Compare and part.ops == ("is",) and part.rights == (_NONE,) and type(part.left) is f.Name
    }
