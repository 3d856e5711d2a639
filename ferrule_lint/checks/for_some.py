"""Functions that some ranks alone come to: what their other ends do stands elsewhere."""

from __future__ import annotations

from ferrule_lint.checks.middle_stages import calls_of
from ferrule_lint.semantics.divergence.reach import way_to
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of
from ferrule_lint.semantics.walk.frame import Frame


def is_for_some(frame: Frame) -> bool:
    """Whether some ranks alone come to a function: a test of the rank leads to a call of it."""
    calls = calls_of(frame.analysis, frame.function, without_use=True) if frame.function is not None else ()
    return any(asks_for_rank(formula) for trace, call in calls for formula in way_to(trace, call) or ())


def asks_for_rank(formula: Formula) -> bool:
    """Whether a test is of the rank."""
    divergence = divergence_of(formula)
    return divergence is not None and divergence.kind == "rank"
