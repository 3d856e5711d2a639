"""Rounds that only fail: what a loop issues which tries until it gets through, and how often, is what its last round
does. Ranks that fail more often come to it later, and the others wait for them there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ferrule_lint.findings import Step
from ferrule_lint.semantics.control.exceptions import IS_WHAT_FAILS
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.trace import (
    Attempt,
    CallTerm,
    Choice,
    Event,
    Exit,
    Loop,
    Term,
    Trace,
    every_term,
)


class _State(NamedTuple):
    """What a rank has behind it in a round."""

    issued: bool
    failed: bool


#: how a way ends: "on" at the end of what is looked at, else the kind of an exit; the line of a handler; the state
_Way = tuple[str, int, _State]


def gets_through(loop: Loop) -> bool:
    """Whether each round that is followed by another has failed before it issued anything."""
    if not loop.gives_up:
        return False
    ways = set(_ways(loop.body, {_State(False, False)}))
    again = [state for kind, _, state in ways if kind in ("on", "continue")]
    return bool(again) and all(state.failed and not state.issued for state in again)


def _ways(trace: Trace, states: set[_State]) -> Iterator[_Way]:
    """How the ways through a trace may end. Those that raise end nowhere."""
    for i, term in enumerate(trace):
        if not states:
            return
        if type(term) is Exit:
            if term.kind != "raise":
                kind = "left" if term.kind in ("return", "leaves", "alone") else term.kind
                yield from ((kind, term.line, state) for state in states)
            return
        if type(term) is Event or (type(term) is CallTerm and term.summary.events):
            states = {_State(True, state.failed) for state in states}
            continue
        goes_on: set[_State] = set()
        for way in _within(term, trace[i + 1 :], states):
            if way[0] == "on":
                goes_on.add(way[2])
            else:
                yield way
        states = goes_on
    yield from (("on", 0, state) for state in states)


def _within(term: Term, behind: Trace, states: set[_State]) -> Iterator[_Way]:
    """How the ways through one term may end, before what stands `behind` it."""
    if type(term) is Choice:
        fails = term.form in ("except", "exception")
        late = term.form == "exception" and not _before_all(term, behind)
        yield from _ways(term.body, {_State(s.issued or late, s.failed or fails) for s in states})
        yield from _ways(term.orelse, states)
    elif type(term) is Loop:
        yield from (("on", 0, state) for state in states)
        before = {_State(True, s.failed) for s in states if _issues(term)}  # in earlier rounds
        for kind, line, state in _ways(term.body, states | before):
            yield ("on" if kind in ("break", "continue") else kind), line, state
    elif type(term) is Attempt:
        handlers = dict(term.handlers)
        for kind, line, state in _ways(term.body, states):
            if kind == "caught" and line in handlers:
                yield from _ways(handlers[line], {_State(state.issued, True)})
            else:
                yield kind, line, state
    else:
        yield from (("on", 0, state) for state in states)


def _before_all(choice: Choice, behind: Trace) -> bool:
    """Whether an exception comes before everything that the call issues which has it. What only a handler tells may
    come anywhere in the `try`, unless one call there asks a service."""
    divergence = divergence_of(choice.formula)
    if divergence is None:
        return False
    if choice.text.startswith("except"):
        return divergence.why[-1].note.endswith(IS_WHAT_FAILS) and _all_behind(behind, divergence.why[-1])
    raised = divergence.why[-2] if len(divergence.why) > 1 else None  # the last is the call
    for term in every_term(behind):
        if type(term) is Event and term.pos == choice.pos:
            return False
        if type(term) is not CallTerm or term.pos != choice.pos or not term.summary.events:
            continue
        if raised is None or not _RAISED.search(raised.note) or not _all_behind(term.summary.trace, raised):
            return False
    return True


#: what a witness says of the place in a callee where an exception comes from
_RAISED = re.compile(r"raises `|may fail there$")


def _all_behind(trace: Trace, raised: Step) -> bool:
    """Whether everything that a function issues stands below a line of it, and not in a loop around that."""
    places = [(t.path, t.pos[0]) for t in every_term(trace) if type(t) is Event]
    places += [(t.path, t.pos[0]) for t in every_term(trace) if type(t) is CallTerm and t.summary.events]
    places += [(t.path, t.pos[0]) for t in every_term(trace) if type(t) is Loop and _issues(t)]
    return all(path == raised.path and line > raised.line for path, line in places)


def _issues(loop: Loop) -> bool:
    """Whether a round of a loop may issue something."""
    return any(type(t) is Event or (type(t) is CallTerm and bool(t.summary.events)) for t in every_term(loop.body))
