"""Loops whose rounds add up: `for _ in range(warmup)` and then `for _ in range(total - warmup)` are `total` rounds.

How many of them belong to which loop is each rank's own, as in the schedules of pipelines; what all of them do in each
round is done as often on every rank. That no number of rounds is below zero is taken for granted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, statements
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.arithmetic import remainder
from ferrule_lint.semantics.domain.text import last_name, position, variables
from ferrule_lint.semantics.walk.frame import Frame

#: loops of one block that are looked at
_MOST = 8
#: names that stand for what they were assigned
_DEEPEST = 4
_NONE = f.Const("0")


class _Counted(NamedTuple):
    """A loop, and how many rounds it has: an expression in which names stand for what they were assigned."""

    loop: f.For
    rounds: f.Expr
    #: the line from which on nothing in the expression may change
    since: int


def sums(frame: Frame, loop: f.For) -> tuple[frozenset[f.Pos], ...]:
    """Where the loops stand with which a loop makes a number of rounds that all ranks have."""
    if frame.light or frame.function is None:
        return ()
    block = next(_blocks_with(frame.function.body, loop), ())
    counted = [c for s in block if type(s) is f.For and (c := _counted(frame, s)) is not None]
    own = next((c for c in counted if c.loop is loop), None)
    if own is None or not 1 < len(counted) <= _MOST:
        return ()
    others = [c for c in counted if c is not own]
    found: list[frozenset[f.Pos]] = []
    for number in range(1, len(others) + 1):
        for some in combinations(others, number):
            places = frozenset(_place(c.loop) for c in (own, *some))
            if not any(known < places for known in found) and _is_same_everywhere(frame, (own, *some)):
                found.append(places)
    return tuple(found)


def _place(loop: f.For) -> f.Pos:
    return position(loop.iterable) or (loop.line, loop.column, loop.line, loop.column)


def _blocks_with(body: f.Body, loop: f.For) -> Iterator[f.Body]:
    for block in (body, *(block for s in statements(body) for block in blocks(s))):
        if any(s is loop for s in block):
            yield block


def _counted(frame: Frame, loop: f.For) -> _Counted | None:
    call = loop.iterable
    if type(call) is not f.Call or last_name(call.func) != "range" or not 0 < len(call.args) < 3 or call.keywords:
        return None
    if any(type(s) in (f.Break, f.Return) for s in statements(loop.body)):
        return None
    rounds = call.args[0] if len(call.args) == 1 else f.Op("Sub", (call.args[1], call.args[0]))
    known, since = _spelled_out(frame, rounds, _DEEPEST)
    return _Counted(loop, known, min(since, loop.line))


def _spelled_out(frame: Frame, expr: f.Expr, depth: int) -> tuple[f.Expr, int]:
    """An expression with what its names were assigned, where that is a sum, and the line of the first of these."""
    line = (position(expr) or (1 << 30,))[0]
    if type(expr) is f.Name and depth:
        made = definition(frame, expr)
        if type(made) is f.Op and made.kind in ("Add", "Sub", "Mult"):
            return _spelled_out(frame, made, depth - 1)
    if type(expr) is f.Op and expr.kind in ("Add", "Sub", "Mult"):
        parts = [_spelled_out(frame, operand, depth) for operand in expr.operands]
        return expr._replace(operands=tuple([part for part, _ in parts])), min([line, *(since for _, since in parts)])
    return expr, line


def _is_same_everywhere(frame: Frame, loops: tuple[_Counted, ...]) -> bool:
    total = f.Op("Add", tuple([c.rounds for c in loops]))
    left = remainder(total, _NONE)
    if left is None or frame.function is None:
        return False
    since = min(c.since for c in loops)
    names = variables(total)
    for s in statements(frame.function.body):
        if type(s) is f.Assign:
            targets = s.targets
        elif type(s) is f.AugAssign or type(s) is f.For:
            targets = (s.target,)
        else:
            continue
        if s.line >= since and any(names & variables(target) for target in targets):
            return False
    with frame.recording():
        values = [frame.eval(factor) for factor in left]
    return not any(v.divergence or v.data or v.length for v in values)
