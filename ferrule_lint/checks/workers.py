"""Ranks that wait for orders: a loop that some ranks alone run, and in which each round begins with what they are told.

One rank serves requests, and its handlers say to the others what to do; these hear it in their loop. The two halves are
in different functions, which some server calls, so that neither has its counterpart in sight: what is heard in such a
loop is answered somewhere, and a rank that sends it, alone, is no finding that anybody could be sure of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from ferrule_lint.checks.for_some import asks_for_rank
from ferrule_lint.checks.places import calls_at, trace_of
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence, Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.axes import Axes
from ferrule_lint.semantics.domain.trace import Attempt, CallTerm, Choice, Event, Exit, Loop, Term, Trace, every_term
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo

_CODES = frozenset({"FER102", "FER103", "FER104"})
#: why the rank that sends does so: it is the one, or its server has been asked
_KINDS = frozenset({"rank", "host"})
_RECEIVES = frozenset({"recv", "recv_object_list", "scatter", "scatter_object_list"})
#: a function whose name more files mention is no helper of a few
_MOST_FILES = 12
#: calls between the loop and the test of the rank above it
_DEEPEST = 2


class _Order(NamedTuple):
    """An operation that workers hear in their loops: the file in which it is issued, its group's axes and the rank that
    sends, if that is written out."""

    path: str
    op: str
    axes: Axes
    source: str


_Orders = frozenset[_Order]


def sent_to_workers(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings, of which those about orders to waiting ranks are guesses."""
    known: dict[frozenset[str], _Orders] = {}
    out: list[Finding] = []
    for finding in findings:
        if finding.kind in _KINDS and finding.code in _CODES and finding.confidence > Confidence.LOW:
            paths = frozenset([finding.path, *(s.path for s in finding.witness), *_heard_in(analysis, finding)])
            if paths not in known:
                known[paths] = _orders(analysis, paths)
            heard = _is_heard_beside(analysis, finding) or _is_heard_behind(analysis, finding)
            if heard or _is_order(analysis, finding, known[paths]):
                finding = replace(finding, confidence=Confidence.LOW)
        out.append(finding)
    return out


def _heard_in(analysis: Analysis, finding: Finding) -> Iterator[str]:
    """The files that may call what issues the events of a finding: that is where others hear them."""
    for step in finding.witness:
        if step.role != "event":
            continue
        for function, _ in calls_at(analysis, step.path, step.line, step.column):
            if function is not None:
                yield from (module.path for module in _naming(analysis, function))


def _naming(analysis: Analysis, function: FunctionInfo) -> list[ModuleInfo]:
    """The files that mention a function by its name, if these are few: where it may be called."""
    modules = analysis.names.mentioning(function.name)
    return modules if len(modules) <= _MOST_FILES else []


def _is_order(analysis: Analysis, finding: Finding, orders: _Orders) -> bool:
    issued = [s for s in finding.witness if s.role == "event"]
    return bool(issued) and all(
        any(
            (order.path, order.op, order.axes) == (s.path, e.op, frozenset(e.axes))
            and _agree(order.source, _source(analysis, s.path, (s.line, s.column)))
            for order in orders
        )
        for s, e in zip(issued, finding.events, strict=False)
    )


def _is_heard_beside(analysis: Analysis, finding: Finding) -> bool:
    """Whether what an arm of a test of the rank sends is an order which the other arm hears in a loop, there or by a
    call, in whichever file that lies: `if comm.rank == 0: comm.bcast(STOP)`, `else: self.wait_for_orders()`."""
    place = (finding.span.line, finding.span.column)
    sent = {(e.op, frozenset(e.axes)) for e in finding.events}
    for function, _ in calls_at(analysis, finding.path, *place):
        for term in every_term(trace_of(analysis, function)) if function is not None else ():
            if type(term) is not Choice or not asks_for_rank(term.formula):
                continue
            for arm, other in ((term.body, term.orelse), (term.orelse, term.body)):
                issued = {type(t) for t in every_term(arm) if isinstance(t, Event | CallTerm) and t.pos[:2] == place}
                by_calls = _heard_by_calls(analysis, other) if Event in issued else ()
                there = _heard_in_loops(other) if CallTerm in issued and _has_last_word(arm, sent) else ()
                told = _told_by_calls(analysis, arm, other) if CallTerm in issued else ()
                if issued and sent <= {(e.op, e.axes) for e in (*by_calls, *there, *told)}:
                    return True
    return False


def _is_heard_behind(analysis: Analysis, finding: Finding) -> bool:
    """Whether what one rank sends, in an arm that has no other, is heard in a loop without an end behind it, to which
    those come that are not in there: `if rank == 0: server.run(port)`, `while True: dist.broadcast(order, 0)`."""
    place = (finding.span.line, finding.span.column)
    sent = {(e.op, frozenset(e.axes)) for e in finding.events}
    for function, _ in calls_at(analysis, finding.path, *place):
        module = analysis.names.modules[finding.path]
        trace = trace_of(analysis, function) if function is not None else analysis.module_frame(module).trace()
        for block in _blocks(trace):
            for choice, loop in pairwise(block):
                if type(choice) is not Choice or type(loop) is not Loop or not asks_for_rank(choice.formula):
                    continue
                arm = choice.body or choice.orelse
                if (choice.body and choice.orelse) or not any(t.pos[:2] == place for t in arm if type(t) is CallTerm):
                    continue
                heard = {(e.op, e.axes) for term in every_term(loop.body) for e in _events(term)}
                if _has_no_end(loop) and _first_of_a_round(loop.body) and sent <= heard:
                    return True
    return False


def _blocks(trace: Trace) -> Iterator[Trace]:
    yield trace
    for term in every_term(trace):
        if type(term) is Choice:
            yield term.body
            yield term.orelse
        elif type(term) is Loop:
            yield term.body


def _told_by_calls(analysis: Analysis, arm: Trace, other: Trace) -> Iterator[Event]:
    """What the rounds of workers issue in the functions that an arm calls, where the other one ends by an order to
    them: what comes between the first order and the last belongs to one."""
    last = arm[-1] if arm else None
    if type(last) is not Event:
        return
    for loop in _loops_of_workers(analysis, other):
        if any((last.op, last.axes) == (e.op, e.axes) for e in _first_of_a_round(loop.body)):
            yield from (e for term in every_term(loop.body) for e in _events(term))


def _has_last_word(arm: Trace, sent: set[tuple[str, Axes]]) -> bool:
    """Whether an arm ends by sending what its calls have sent."""
    return bool(arm) and type(arm[-1]) is Event and {(arm[-1].op, arm[-1].axes)} == sent


def _heard_in_loops(arm: Trace) -> Iterator[Event]:
    """What the loops of an arm hear, with which it begins."""
    for term in arm:
        if type(term) is Loop and term.polls and _asks_what_it_heard(term.body):
            yield from _first_of_a_round(term.body)


def _heard_by_calls(analysis: Analysis, arm: Trace) -> Iterator[Event]:
    """What the loops of workers hear in the functions that an arm calls."""
    return (e for loop in _loops_of_workers(analysis, arm) for e in _first_of_a_round(loop.body))


def _loops_of_workers(analysis: Analysis, arm: Trace) -> Iterator[Loop]:
    for call in every_term(arm):
        if type(call) is CallTerm and call.summary.function is not None:
            for term in every_term(trace_of(analysis, call.summary.function)):
                if type(term) is Loop and term.polls and _asks_what_it_heard(term.body):
                    yield term


def _orders(analysis: Analysis, paths: Iterable[str]) -> _Orders:
    modules = [analysis.names.modules[p] for p in sorted(paths) if p in analysis.names.modules]
    in_functions = (
        heard for function, heard in _heard(analysis, modules) if _is_run_by_some(analysis, function, modules)
    )
    return frozenset(
        _Order(e.path, e.op, e.axes, _source(analysis, e.path, e.pos[:2]))
        for heard in (*in_functions, *_heard_in_arms(analysis, modules), *_served(analysis, modules))
        for e in heard
    )


def _heard_in_arms(analysis: Analysis, modules: Iterable[ModuleInfo]) -> Iterator[tuple[Event, ...]]:
    """The events of such loops that stand under a test of the rank in the body of a program, of which the other arm
    sends each what it is to do next: `scatter_object_list(order, orders, src=host)`."""
    for module in modules:
        for term in every_term(analysis.module_frame(module).trace()):
            if type(term) is Choice and asks_for_rank(term.formula):
                for inner in every_term((*term.body, *term.orelse)):
                    if type(inner) is Loop and inner.polls and _asks_what_it_heard(inner.body):
                        yield _first_of_a_round(inner.body)


def _served(analysis: Analysis, modules: Iterable[ModuleInfo]) -> Iterator[tuple[Event, ...]]:
    """The events of loops without an end in which all ranks but one call a function for ever, where that one goes on
    without anything: a server calls the same on it for each request (`while True: self.execute([None])`)."""
    for _, term in _terms_beside_while(analysis, modules):
        if type(term) is Choice and asks_for_rank(term.formula):
            for arm, other in ((term.body, term.orelse), (term.orelse, term.body)):
                if len(arm) == 1 and type(arm[0]) is Loop and not any(map(_events, every_term(other))):
                    yield from _called_for_ever(arm[0])


def _called_for_ever(loop: Loop) -> Iterator[tuple[Event, ...]]:
    """What the rounds of such a loop begin with, where they do nothing but call a function."""
    if _has_no_end(loop) and len(loop.body) == 1 and type(loop.body[0]) is CallTerm:
        yield _first_of_a_round(loop.body)


def _agree(one: str, other: str) -> bool:
    return one == other or not one or not other


def _source(analysis: Analysis, path: str, place: tuple[int, int]) -> str:
    """The rank that sends, in a broadcast at some place; "" where it is not written out."""
    for _, call in calls_at(analysis, path, *place):
        given = next((v for k, v in call.keywords if k in ("src", "group_src")), None)
        given = call.args[1] if given is None and len(call.args) > 1 else given
        return "0" if given is None else given.text if type(given) is f.Const else ""
    return ""


def _heard(analysis: Analysis, modules: Iterable[ModuleInfo]) -> Iterator[tuple[FunctionInfo, tuple[Event, ...]]]:
    """Functions with a loop whose rounds are not counted and begin with an order, with the events of that; where it is
    received, what a round issues as it was told is answered there, too."""
    for function, term in _terms_beside_while(analysis, modules):
        if type(term) is Loop and term.polls and (_has_no_end(term) or _asks_what_it_heard(term.body)):
            heard = _first_of_a_round(term.body)
            if heard:
                yield function, heard


def _terms_beside_while(analysis: Analysis, modules: Iterable[ModuleInfo]) -> Iterator[tuple[FunctionInfo, Term]]:
    """Every term of the functions that have a `while`."""
    for module in modules:
        for function in module.functions.values():
            if any(type(node) is f.While for node in walk(function.body)):
                yield from ((function, term) for term in every_term(trace_of(analysis, function)))


def _has_no_end(loop: Loop) -> bool:
    """Whether whoever runs a loop does nothing else any more."""
    return loop.text == "while True" and not any(type(t) is Exit for t in every_term(loop.body))


def _first_of_a_round(body: Trace) -> tuple[Event, ...]:
    """What a round begins with, where that is an order: a broadcast and barriers before it, or what is received, with
    all that follows; none if it begins with anything else."""
    before: list[Event] = []
    for term in every_term(body):
        events = _events(term)
        if not events:
            continue
        heard = [e for e in events if e.op.startswith("broadcast")]
        if heard:
            return (*before, *heard)
        if all(e.op in _RECEIVES for e in events):
            return (*before, *(e for told in every_term(body) for e in _events(told)))
        if not all("barrier" in e.op for e in events):
            break
        before += events
    return ()


def _asks_what_it_heard(body: Trace) -> bool:
    """Whether what a round hears can end the loop, or is told to be nothing that is known."""
    return any(
        type(t) is Attempt or (type(t) is Choice and any(type(inner) is Exit for inner in every_term((t,))))
        for t in every_term(body)
    )


def _is_run_by_some(analysis: Analysis, function: FunctionInfo, asked: Sequence[ModuleInfo], depth: int = 0) -> bool:
    """Whether a call of the function, or of what calls it, stands under a test of the rank, in a function or in a
    program's own body; `asked`: the files of a finding, which are looked at in any case."""
    callers: list[FunctionInfo] = []
    for module in _naming(analysis, function) or asked:
        traces = [(caller, trace_of(analysis, caller)) for caller in module.functions.values()]
        for caller, trace in (*traces, (None, analysis.module_frame(module).trace())):
            if not any(_calls(term, function) for term in every_term(trace)):
                continue
            if any(_is_for_some(term, function) for term in every_term(trace)):
                return True
            if caller is not None and caller is not function:
                callers.append(caller)
    return depth + 1 < _DEEPEST and any(_is_run_by_some(analysis, c, asked, depth + 1) for c in callers)


def _is_for_some(term: Term, function: FunctionInfo) -> bool:
    if type(term) is not Choice or not asks_for_rank(term.formula):
        return False
    return any(_calls(t, function) for arm in (term.body, term.orelse) for t in every_term(arm))


def _calls(term: Term, function: FunctionInfo) -> bool:
    return type(term) is CallTerm and term.summary.origin is function.origin


def _events(term: object) -> tuple[Event, ...]:
    if type(term) is Event:
        return (term,)
    return term.summary.events if type(term) is CallTerm else ()
