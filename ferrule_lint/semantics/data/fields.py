"""Fields of samples and batches: where in the text something was read out of local data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.text import last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_MOST_STEPS = 3
_LISTS = frozenset({"tolist", "cpu", "list", "tuple", "sorted"})


def read_from(frame: Frame, expr: f.Expr) -> f.Subscript | None:
    """`batch["task"]` of `batch["task"][0]`, of a name that holds it, and of the item of a loop over it; None if it is
    read from no such field. The keys of a batch are none of its data."""
    for _ in range(_MOST_STEPS):
        held = definition(frame, expr)
        if type(held) is f.Name and (walked := _walked(frame, held.id)) is not None:
            held = walked
        while type(held) is f.Call and last_name(held.func) in _LISTS:
            within = held.func.base if type(held.func) is f.Attr else held.args[0] if held.args else None
            if within is None:
                return None
            held = within
        if type(held) is not f.Subscript:
            if held == expr:
                return None
            expr = held
            continue
        if type(held.index) is f.Const and held.index.text[:1] in "'\"":
            return held
        expr = held.base
    return None


def _walked(frame: Frame, name: str) -> f.Expr | None:
    """What a loop around goes through whose items have a name; also side by side with others, or counted."""
    for loop, _, _ in reversed(frame.rounds):
        names: tuple[f.Expr, ...] = (loop.target,)
        iterables: tuple[f.Expr, ...] = (loop.iterable,)
        if type(loop.target) is f.Sequence and type(loop.iterable) is f.Call:
            kind, names = last_name(loop.iterable.func), loop.target.elements
            iterables = loop.iterable.args if kind == "zip" else (f.Const("0"), *loop.iterable.args[:1])
            if kind not in ("zip", "enumerate"):
                continue
        for target, iterable in zip(names, iterables, strict=False):
            if type(target) is f.Name and target.id == name:
                return iterable
    return None
