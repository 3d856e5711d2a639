"""Threads that a function starts: what they issue runs beside what the function goes on to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts.types import Pos
from ferrule_lint.semantics.domain.text import last_name, shown
from ferrule_lint.semantics.domain.trace import CallTerm, Event

if TYPE_CHECKING:
    from ferrule_lint.facts import types as f
    from ferrule_lint.semantics.walk.frame import Frame

#: what hands a function to a thread that runs already
SUBMITS = "submit"


class Started(NamedTuple):
    """A call that starts a thread, or hands a function to those of an executor."""

    pos: Pos
    #: as it is shown
    text: str
    #: what the function that it runs comes to, as terms of the function that starts it
    terms: tuple[Event | CallTerm, ...]
    #: it runs once somebody calls its `start()`
    made: bool = False


def note(frame: Frame, call: f.Call, before: int) -> None:
    """What a call of a thread's class, or of an executor, has put into the trace since it had `before` terms."""
    terms = tuple(term for term in frame.terms[before:] if isinstance(term, Event | CallTerm))
    if terms and not frame.light:
        frame.started.append(Started(call.pos, shown(call.func), terms, last_name(call.func) != SUBMITS))
