"""What is made where several things hold: `feed = Feed() if remote and rank == 0 else None`, also by an `if`.

Whether it is there is that test, in which the parts count for themselves: who asks for `remote` in the next arm is
told that the ranks differ in the other part only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.data import iteration
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_NONE = f.Const("None")


def test_for(frame: Frame, expr: f.Expr) -> f.Expr | None:
    """The test under which a name is something, and None else, if the test would come out as it did."""
    made = iteration.definition(frame, iteration.definition(frame, expr))
    if made is expr or type(made) is not f.IfExp or type(made.test) is not f.BoolOp:
        return None
    number = frame.version(place_name(expr))
    parts = [part for part in walk(made.test) if type(part) is f.Name or type(part) is f.Attr]
    if any(frame.version(place_name(part)) > number for part in parts):
        return None
    if made.orelse == _NONE and _is_made(made.body):
        return made.test
    return f.Not(made.test) if made.body == _NONE and _is_made(made.orelse) else None


def in_arms(frame: Frame, s: f.If) -> dict[str, f.Expr]:
    """What an `if` that asks for several things makes of names, as conditional expressions; asked in front of it."""
    here = (s.line, s.column, s.line, s.column)
    test, arm = s.test, s.body
    while not s.orelse and len(arm) == 1 and type(arm[0]) is f.If and not arm[0].orelse:
        test, arm = f.BoolOp("and", (test, arm[0].test), here), arm[0].body
    if type(test) is not f.BoolOp:
        return {}
    body, orelse = _assigned(arm), _assigned(s.orelse)
    found: dict[str, f.Expr] = {}
    for name in {**body, **orelse}:
        before = iteration.definition(frame, f.Name(name, here))
        one, other = body.get(name, before), orelse.get(name, before)
        if _NONE in (one, other) and (_is_made(one) or _is_made(other)):
            found[name] = f.IfExp(test, one, other, here)
    return found


def note(frame: Frame, made: dict[str, f.Expr]) -> None:
    """Behind the `if`."""
    for name, expr in made.items():
        frame.definitions[name] = (expr, frame.version(name))


def _assigned(body: f.Body) -> dict[str, f.Expr]:
    return {
        s.targets[0].id: s.value
        for s in body
        if type(s) is f.Assign and len(s.targets) == 1 and type(s.targets[0]) is f.Name and s.value is not None
    }


def _is_made(expr: f.Expr) -> bool:
    """Whether this is a new object, by the name of its class."""
    return type(expr) is f.Call and last_name(expr.func).lstrip("_")[:1].isupper()
