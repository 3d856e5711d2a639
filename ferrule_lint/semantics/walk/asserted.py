"""What an assertion fixes: `assert length == config.length` leaves on no rank another length than the setting's.

A rank on which it does not hold fails at once, whatever the others do, so what follows is run with the one value.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.walk.frame import Frame


def hold(frame: Frame, test: f.Expr) -> None:
    """Let places have the values that an assertion says they have."""
    if type(test) is f.BoolOp and test.op == "and":
        for part in test.values:
            hold(frame, part)
        return
    if type(test) is not f.Compare or test.ops != ("==",):
        return
    for own, other in ((test.left, test.rights[0]), (test.rights[0], test.left)):
        place = place_name(own)
        value = frame.env.get(place) if place else None
        of_rank = value is not None and value.divergence is not None and value.divergence.kind == "rank"
        if (
            value is not None
            and not of_rank
            and _differs(value)
            and (fixed := _same_everywhere(frame, other)) is not None
        ):
            frame.env[place] = fixed
            return


def _differs(value: Value) -> bool:
    return value.divergence is not None or value.data is not None


def _same_everywhere(frame: Frame, expr: f.Expr) -> Value | None:
    """The value of a number of which nothing says that it differs; a call is left alone, which has been evaluated."""
    if any(type(node) is f.Call for node in walk(expr)):
        return None
    with frame.recording():
        value = frame.eval(expr)
    return None if _differs(value) or value.length is not None or value.emptiness is not None else value
