"""Who is first and last at once is alone: `is_first_stage() and is_last_stage()`, `rank == 0 and rank == n - 1`.

Each half differs by rank; both hold together only where there is one stage, or one rank, and there they hold for all.
So it is with what an end lacks: `before is None and after is None`, where `before` is None for the first and `after`
for the last, and with the opposite, `before is not None or after is not None`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.conditions import Atom, Formula, negate
from ferrule_lint.semantics.domain.dependences import NO_DEPS
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import called_name, place_name, render
from ferrule_lint.semantics.walk.frame import Frame

_FIRST = re.compile(r"(?<![a-z])first(?![a-z])")
_SIZE = re.compile(r"size|count|num|world|stages|ranks|^n$", re.IGNORECASE)


def taken_together(
    frame: Frame, operands: Sequence[f.Expr], formulas: Sequence[Formula], values: Sequence[Value]
) -> tuple[list[Formula], list[Value]]:
    """The terms of a conjunction, with the two ends of one dimension as a single test that ranks answer alike."""
    kept_formulas, kept_values = list(formulas), list(values)
    places = [i for i, value in enumerate(values) if _by_rank(value)]
    for one in places:
        for other in places:
            a, b = (definition(frame, operands[i]) for i in (one, other))
            if one == other or not (_named_ends(a, b) or _numbered_ends(frame, a, b)):
                continue
            if _axes(values[one]) != _axes(values[other]):
                continue
            key = "=alone:" + frame.key(operands[one])
            kept_formulas[one] = kept_formulas[other] = Atom(key, None, NO_DEPS)
            kept_values[one] = kept_values[other] = Value(uniform=True)
    return kept_formulas, kept_values


def lacked(
    frame: Frame, expr: f.BoolOp, formulas: Sequence[Formula], values: Sequence[Value]
) -> tuple[list[Formula], list[Value]]:
    """The terms of `before is None and after is None`, or of `before is not None or after is not None`, with what the
    two ends of one dimension lack as a single test that ranks answer alike."""
    kept_formulas, kept_values = list(formulas), list(values)
    if len(values) < len(expr.values):
        return kept_formulas, kept_values
    op = "is" if expr.op == "and" else "is not"
    asked = zip(expr.values, values, strict=True)
    tests = [_none_under(frame, operand, op) if _by_rank(value) else None for operand, value in asked]
    for one, first in enumerate(tests):
        for other, last in enumerate(tests):
            if first is None or last is None or not _numbered_ends(frame, first, last):
                continue
            alone: Formula = Atom("=alone:" + frame.key(first), None, NO_DEPS)
            kept_formulas[one] = kept_formulas[other] = alone if op == "is" else negate(alone)
            kept_values[one] = kept_values[other] = Value(uniform=True)
    return kept_formulas, kept_values


def _none_under(frame: Frame, operand: f.Expr, op: str) -> f.Expr | None:
    """The test under which a name that is asked for (`before is None`) was set to None, and else to something."""
    if type(operand) is not f.Compare or operand.ops != (op,) or operand.rights != (_NONE,) or frame.function is None:
        return None
    place = place_name(operand.left)
    body = tuple(statements(frame.function.body))
    given = [s for s in body if type(s) is f.Assign and place in map(place_name, s.targets)]
    given.sort(key=lambda s: s.line)
    if len(given) == 1 and type(given[0].value) is f.IfExp:
        made = given[0].value
        return made.test if made.body == _NONE and made.orelse != _NONE else None
    for s in body:
        if type(s) is f.If and len(given) == 2 and s.body[:1] == (given[0],) and s.orelse[:1] == (given[1],):
            return s.test if given[0].value == _NONE and given[1].value != _NONE else None
    return None


_NONE = f.Const("None")


def _by_rank(value: Value) -> bool:
    return value.divergence is not None and value.divergence.kind == "rank"


def _axes(value: Value) -> frozenset[str]:
    return value.divergence.axes if value.divergence is not None else frozenset()


def _named_ends(a: f.Expr, b: f.Expr) -> bool:
    """`is_first_stage()` and `is_last_stage()`: the same but for that word."""
    first, last = called_name(a), called_name(b)
    if not first or type(a) is not type(b) or _FIRST.search(_words(first)) is None:
        return False
    # what stands around the name is the same text: the object, and what it is asked with
    return first != last and first.replace("first", "last") == last and render(a).replace(first, last) == render(b)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _numbered_ends(frame: Frame, a: f.Expr, b: f.Expr) -> bool:
    """`rank == 0` and `rank == size - 1`."""
    if type(a) is not f.Compare or type(b) is not f.Compare or a.ops != ("==",) or b.ops != ("==",):
        return False
    if frame.key(a.left) != frame.key(b.left) or a.rights[0] != f.Const("0"):
        return False
    end = definition(frame, b.rights[0])
    if type(end) is not f.Op or end.kind != "Sub" or len(end.operands) != 2 or end.operands[1] != f.Const("1"):
        return False
    size = end.operands[0]
    if type(size) is f.Name and frame.eval(size).world_size:
        return True
    return _SIZE.search(called_name(size)) is not None
