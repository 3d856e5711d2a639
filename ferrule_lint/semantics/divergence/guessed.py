"""Calls from what only generates: forwards in them of modules that need not be the one which the project shards.

Two guesses are one too many, whatever else the call issues: what it says in so many words (the reduction of a layer
that is split over ranks) counts as before.
"""

from __future__ import annotations

from collections.abc import Callable

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.summary import Summary
from ferrule_lint.semantics.domain.trace import Attempt, CallTerm, Choice, Event, Loop, Term, Trace

#: calls of calls that are looked into
_DEEPEST = 12

EventsOf = Callable[[Trace], tuple[Event, ...]]


def of_call(summary: Summary, events_of: EventsOf) -> Summary:
    """What a call issues, with the forwards that are guesses there marked as such."""
    if summary.guessed is None:
        summary.guessed = _called(summary, events_of, {}, 0)
    return summary.guessed


def _called(summary: Summary, events_of: EventsOf, known: dict[int, Summary], depth: int) -> Summary:
    if id(summary) not in known:
        known[id(summary)] = summary  # a function that calls itself
        trace = _marked(summary.trace, events_of, known, depth + 1)
        if trace is not summary.trace:
            known[id(summary)] = summary.with_trace(trace, events_of(trace))
    return known[id(summary)]


def _marked(trace: Trace, events_of: EventsOf, known: dict[int, Summary], depth: int) -> Trace:
    """A trace with such forwards as guesses; itself if there are none."""
    out: list[Term] = []
    for term in trace:
        if type(term) is Event and term.assumed and term.confidence > Confidence.LOW:
            term = term._replace(confidence=Confidence.LOW)
        elif type(term) is Choice:
            body, orelse = (_marked(arm, events_of, known, depth) for arm in (term.body, term.orelse))
            if body is not term.body or orelse is not term.orelse:
                term = term._replace(body=body, orelse=orelse)
        elif type(term) is Loop:
            body = _marked(term.body, events_of, known, depth)
            term = term if body is term.body else term._replace(body=body)
        elif type(term) is Attempt:
            body = _marked(term.body, events_of, known, depth)
            handlers = tuple((line, _marked(handler, events_of, known, depth)) for line, handler in term.handlers)
            same = all(x is y for (_, x), (_, y) in zip(handlers, term.handlers, strict=True))
            term = term if body is term.body and same else Attempt(body, handlers)
        elif type(term) is CallTerm and any(e.assumed for e in term.summary.events) and depth < _DEEPEST:
            called = _called(term.summary, events_of, known, depth)
            term = term if called is term.summary else term._replace(summary=called)
        out.append(term)
    unchanged = len(out) == len(trace) and all(a is b for a, b in zip(out, trace, strict=True))
    return trace if unchanged else tuple(out)
