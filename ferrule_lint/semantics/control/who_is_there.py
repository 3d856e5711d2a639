"""Barriers that fail, after a time, on the ranks which come where others do not: who survives has asked who is there.

`try: dist.monitored_barrier(group, timeout)`, `except RuntimeError: return True`: nobody waits for good, and what is
begun by all ranks together ends on all of them once one is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.control import exceptions
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Trace

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_TELL = frozenset({"monitored_barrier"})


def is_asked(frame: Frame, operation: str) -> bool:
    """Whether an operation is one of these, in a `try` that goes on after it has failed."""
    return operation in _TELL and exceptions.handler_of(frame, "RuntimeError", None) != 0


def ends(loop: f.For, body: Trace) -> bool:
    """Whether the ranks ask in the rounds of a loop that they can leave who is there: then they leave it together."""
    return any(type(s) is f.Break for s in statements(loop.body)) and _asks(body)


def _asks(trace: Trace) -> bool:
    for term in trace:
        if type(term) is Choice and (_asks(term.body) or _asks(term.orelse)):
            return True
        events = (term,) if type(term) is Event else term.summary.events if type(term) is CallTerm else ()
        if any(event.op in _TELL and event.confidence <= Confidence.LOW for event in events):
            return True
    return False
