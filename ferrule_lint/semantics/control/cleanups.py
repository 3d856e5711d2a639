"""Collectives in code that cleans up: in a `finally`, or in a handler that raises again.

A rank that has an exception of its own gets there alone, while the others are still in the `try` and wait for it there.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk, way_to
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.control import unwinding
from ferrule_lint.semantics.control.exceptions import carries_on, is_broad
from ferrule_lint.semantics.control.failing import is_harmless
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import negate, with_atoms
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Exit, Trace, parts
from ferrule_lint.semantics.walk.frame import CallIssue

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def in_finally(frame: Frame, s: f.Try, body: Trace, final: Trace) -> None:
    """Events of a `finally` that a rank with an exception reaches alone, while the others are still in the body."""
    if not _other_half(body, final):
        _met_alone(frame, s, s.line, "a `finally`", body, final)


def in_handler(frame: Frame, s: f.Try, handler: f.Handler, body: Trace, handled: Trace) -> None:
    """The same of a handler that cleans up and raises again; one that goes on is a way of its own through the trace."""
    handled = tuple(takewhile(lambda term: type(term) is not Exit, handled))  # `if rank != -1: raise`, and no further
    if is_broad(handler) and not carries_on(handler.body) and not _stands_for(body, handled):
        if _is_told_either_way(frame, s, handler, body):
            return
        _met_alone(frame, s, handler.line, "an `except`", body, handled)


def _other_half(body: Trace, final: Trace) -> bool:
    """Whether one rank issues in the `finally` what all others wait in at the beginning of the block: it lets them
    go on, with and without an exception."""
    if len(body) != 1 or len(final) != 1:
        return False
    waits, lets_go = body[0], final[0]
    if type(waits) is not Choice or type(lets_go) is not Choice or waits.orelse or lets_go.orelse:
        return False
    one, other = (with_atoms(c.formula, lambda atom: atom._replace(divergence=None)) for c in (waits, lets_go))
    if one != negate(other) and negate(one) != other:  # the same test, wherever it stands
        return False
    ours, theirs = (_events_in(t.body) for t in (waits, lets_go))
    return [(e.op, e.axes) for e in ours] == [(e.op, e.axes) for e in theirs]


def _stands_for(body: Trace, handled: Trace) -> bool:
    """Whether a handler issues the one collective of the block that it is for: ranks with and without an exception
    issue it once each."""
    ours, theirs = (_events_in(t) for t in (body, handled))
    return len(ours) == 1 and [(e.op, e.axes) for e in ours] == [(e.op, e.axes) for e in theirs]


def _is_told_either_way(frame: Frame, s: f.Try, handler: f.Handler, body: Trace) -> bool:
    """Whether a handler calls what the others call right behind the block, around a forward and nothing else that may
    communicate: `except BaseException as error: self.finish(error); raise`, and `self.finish(None)`."""
    if any(event.op != "forward" or not event.hidden for event in _events_in(body)):
        return False
    body_around = frame.function.body if frame.function is not None else ()
    next_one = (block[i + 1 : i + 2] for block, i in way_to(body_around, (s.line, 0)) if block[i] is s)
    behind = (*s.orelse[:1], *next(next_one, ()))
    called = {place_name(call.func) for call in map(_call, behind) if call is not None} - {""}
    return any(place_name(call.func) in called for call in map(_call, handler.body) if call is not None)


def _call(s: f.Stmt) -> f.Call | None:
    """The call that a statement is."""
    return s.value if type(s) is f.ExprStmt and type(s.value) is f.Call else None


def _events_in(trace: Trace) -> list[Event]:
    """The events of a trace, and one for each of a call in it."""
    found: list[Event] = []
    stack = list(trace)
    while stack:
        term = stack.pop()
        if type(term) is Event:
            found.append(term)
        elif type(term) is CallTerm:
            found += term.summary.events
        else:
            stack += parts(term)
    return found


def _met_alone(frame: Frame, s: f.Try, line: int, where: str, body: Trace, found: Trace) -> None:
    first = unwinding.first(frame.analysis.bodies, found, frame.function, unwinding.counted_in(s.body))
    if first is None or not body or frame.path_divergence() is not None:
        return  # where some ranks are to begin with, the others may be waiting for just that
    event, pos = first
    inner = _first(body)
    teardown = event.op == "destroy_process_group"
    if not teardown and (inner is None or inner[0].confidence < Confidence.MEDIUM):
        return
    # at the end of a program it only takes longer to end; and a collective alone fails on all ranks or on none
    guess = teardown or not _does_more(s.body, body)
    least = Confidence.LOW if guess else frame.least_of_tests
    divergence = frame.source(WORLD, "host", (line, 1, line, 1), "an exception on one rank leads here", least)
    message = f"`{event.op}` in {where}: a rank with an exception waits here for the others, which are elsewhere"
    frame.issues.append(CallIssue("FER105", pos, divergence, event, message))


def _does_more(statements: f.Body, trace: Trace) -> bool:
    """Whether a block calls anything beside the collectives that it issues itself."""
    issued = {term.pos for term in trace if type(term) is Event and not term.hidden}
    return any(type(node) is f.Call and node.pos not in issued and not is_harmless(node) for node in walk(statements))


def _first(trace: Trace) -> tuple[Event, f.Pos] | None:
    """The first event of a trace, and where it is reached."""
    stack = list(trace)
    while stack:
        term = stack.pop(0)
        if type(term) is Event:
            return term, term.pos
        if type(term) is CallTerm and term.summary.events:
            return term.summary.events[0], term.pos
        stack = [*parts(term), *stack]
    return None
