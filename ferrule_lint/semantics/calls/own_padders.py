"""Functions of the project that are called like a library's which brings tensors to one size on all ranks: copies of it
that do without the library (`pad_across_processes`). How they come to the longest is not always to be followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.semantics.calls.results import of_one_size
from ferrule_lint.semantics.domain.lattice import Value

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.summary import Summary
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame


def result(frame: Frame, function: FunctionInfo, summary: Summary, value: Value) -> Value:
    """What a call of a function returns, which may be such a copy: it asks all ranks for their sizes."""
    model = frame.models.method(function.name, "")
    if model is None or not model.pads or not any(event.op == model.event for event in summary.events):
        return value
    return of_one_size(value)
