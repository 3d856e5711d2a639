"""What the first rank of the job alone fills: `weights = {}`, and `if rank == 0: weights = load(path)`.

Whether something is among it tells the first rank from all others, and no members of a group from the rest, as it does
of the shares that ranks take (`if layer in my_layers:`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.assigned import Tests
from ferrule_lint.semantics.domain.conditions import Formula, implied
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.sources import first_rank

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def is_filled_by_first(frame: Frame, expr: f.Expr, told: Callable[[f.Expr], Formula]) -> bool:
    """Whether a name holds nothing but for what it is set to under a test for the first rank of the job; `told`: what
    a test says."""
    if type(expr) is f.Call and type(expr.func) is f.Attr and expr.func.attr == "keys":
        expr = expr.func.base
    place = place_name(expr)
    if not place or frame.function is None:
        return False
    filling = list(_filling(frame.analysis.bodies.assignments(frame.function.body, place)))
    with frame.recording():
        alone = [any(implied(told(test), True).get(first_rank.OF_JOB) for test in tests) for tests in filling]
    return bool(alone) and all(alone)


def _filling(assigned: list[tuple[f.Expr, Tests]]) -> Iterator[Tests]:
    """The tests under which something is assigned that may hold anything."""
    for value, tests in assigned:
        if type(value) is f.IfExp:
            yield from _filling([(value.body, (*tests, value.test)), (value.orelse, (*tests, f.Not(value.test)))])
        elif not _is_nothing(value):
            yield tests


def _is_nothing(expr: f.Expr) -> bool:
    if type(expr) is f.Call:
        return last_name(expr.func) in ("dict", "set", "list") and not expr.args and not expr.keywords
    return not expr.keys if type(expr) is f.DictDisplay else type(expr) is f.Sequence and not expr.elements
