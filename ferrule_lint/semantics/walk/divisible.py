"""What a test or an assertion says to be a multiple of the number of ranks: `assert len(items) % world_size == 0`.

Dealt out, it leaves each rank as much: `items[rank::world_size]`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.walk.frame import Frame

_NOTHING = f.Const("0")


def dealt_evenly(frame: Frame, told: Iterable[tuple[f.Expr, bool]]) -> list[str]:
    """The places that hold a multiple of the number of ranks, or as many items, if tests have the outcomes `told`."""
    return [place for part, holds in told for place in _evenly(frame, part, holds)]


def _evenly(frame: Frame, test: f.Expr, outcome: bool) -> list[str]:
    if type(test) is f.Compare and len(test.ops) == 1:
        left, op, right = test.left, test.ops[0], test.rights[0]
        if right == _NOTHING and op in (("==",) if outcome else ("!=", ">")):
            return _divided(frame, left)
        if op == ("==" if outcome else "!="):
            return _as_many(frame, left, right) or _as_many(frame, right, left)
        return []
    return [] if outcome else _divided(frame, test)


def hold(frame: Frame, places: list[str]) -> None:
    """Let the environment know of places that hold a multiple."""
    for place in places:
        if (value := frame.env.get(place)) is not None:
            frame.env[place] = value._replace(multiple=True)


def _divided(frame: Frame, expr: f.Expr) -> list[str]:
    """What `n % world_size` divides, and what is counted by it."""
    expr = definition(frame, expr)
    if type(expr) is not f.Op or expr.kind != "Mod" or len(expr.operands) != 2:
        return []
    number, ranks = expr.operands
    if type(number) is f.Const or not _of_ranks(frame, ranks):
        return []
    return [place for place in (place_name(number), _counted(frame, number)) if place]


def _as_many(frame: Frame, number: f.Expr, other: f.Expr) -> list[str]:
    """`len(items) == total` where `total` is a multiple."""
    counted = _counted(frame, number)
    return [counted] if counted and _of_ranks(frame, other) else []


def _of_ranks(frame: Frame, expr: f.Expr) -> bool:
    with frame.recording():
        value = frame.eval(expr)
    return value.world_size or value.multiple


def _counted(frame: Frame, expr: f.Expr) -> str:
    """`items` of `len(items)`, also under another name."""
    number = definition(frame, expr)
    if type(number) is f.Call and last_name(number.func) == "len" and len(number.args) == 1:
        return place_name(number.args[0])
    return ""
