"""Threads that a function starts: what they issue runs beside what the function goes on to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts.types import Pos
from ferrule_lint.semantics.domain.text import last_name, shown
from ferrule_lint.semantics.domain.trace import CallTerm, Event, Loop, Term

if TYPE_CHECKING:
    from ferrule_lint.facts import types as f
    from ferrule_lint.semantics.walk.frame import Frame

#: what hands a function to a thread that runs already
SUBMITS = "submit"
#: what hands it to several, each with an item: `executor.map`
MAPS = "map"
#: what is told the executor first
IN_EXECUTOR = "run_in_executor"
#: what hands it to one, and is waited for where that is awaited: `await asyncio.to_thread(write)`
AWAITED = frozenset({"to_thread", IN_EXECUTOR})


class Started(NamedTuple):
    """A call that starts a thread, or hands a function to those of an executor."""

    pos: Pos
    #: as it is shown
    text: str
    #: what the function that it runs comes to, as terms of the function that starts it
    terms: tuple[Event | CallTerm, ...]
    #: it runs once somebody calls its `start()`
    made: bool = False
    #: the last name of the call: `Thread`, `submit`, `map`, `to_thread`, ...
    how: str = ""


def note(frame: Frame, call: f.Call, before: int, made: bool = True) -> None:
    """What a call of a thread's class, or of an executor, has put into the trace since it had `before` terms. `made`:
    whether a thread waits for its `start()`."""
    terms = tuple(_issued(frame.terms[before:]))
    if terms and not frame.light:
        how = last_name(call.func)
        made = made and how not in AWAITED and how not in (SUBMITS, MAPS)
        frame.started.append(Started(call.pos, shown(call.func), terms, made, how))


def _issued(terms: Iterable[Term]) -> Iterator[Event | CallTerm]:
    """What a function comes to: with one item, where it runs once for each."""
    for term in terms:
        if isinstance(term, Loop):
            yield from _issued(term.body)
        elif isinstance(term, Event | CallTerm):
            yield term
