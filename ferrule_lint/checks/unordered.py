"""FER108: collectives of one group that two threads of a rank issue, the garbage collector, or a signal handler.

The ranks of a group have to issue its collectives in one order. What two threads of a rank do has none: on one rank the
barrier of the thread that writes a checkpoint comes first, on another the reduction of the training loop. A lock does
not help, for it is each rank's own. https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/threadsafety.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ferrule_lint.checks import meanwhile
from ferrule_lint.checks.build import finding
from ferrule_lint.checks.places import calls_at
from ferrule_lint.checks.written_group import Written, handed_on, written_group
from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence, Finding, Step
from ferrule_lint.semantics.calls.callbacks import FULL_TENSOR
from ferrule_lint.semantics.control.started import Started
from ferrule_lint.semantics.divergence.compare import Occurrence
from ferrule_lint.semantics.domain.conditions import atoms
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.summary import Summary
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Trace, every_term, parts
from ferrule_lint.semantics.walk.frame import Frame

_CODE = "FER108"
#: functions that call each other, and are looked into
_DEEPEST = 8
#: the group of `p.full_tensor()`: tensors that one function brings together are of one model, on one mesh
_MESH: Written = ("the mesh of its tensors", "")
#: what is no collective of the group: it ends it
_ENDINGS = ("destroy_process_group", "abort")


def check(frame: Frame, trace: Trace, function: str, body: f.Body) -> Iterator[Finding]:
    """A finding for each thread that a function starts: at what it issues meanwhile itself, or another thread does."""
    if frame.function is not None and frame.function.name == "__del__":
        yield from _of_collector(frame, trace, function)
    if frame.function is not None and frame.analysis.signals.handles(frame.function):
        yield from _of_handler(trace, function)
    for started in meanwhile.started_in(frame, trace, body):
        theirs = _by_group(frame, started)
        if theirs and meanwhile.is_several(frame, started, body):
            yield _beside_itself(frame, started, next(iter(theirs.values())), function)
        if theirs and meanwhile.runs_on(started):
            yield from _beside(frame, started, theirs, trace, function, body)


def _beside(
    frame: Frame, started: Started, theirs: Mapping[Written, Event], trace: Trace, function: str, body: f.Body
) -> Iterator[Finding]:
    """`theirs`: the first event of the thread in each group that can be told."""
    block = meanwhile.during(body, started)
    for term in _issuing(trace):
        if term.pos == started.pos or not meanwhile.stands_in(body, block, term.pos):
            continue
        for event in _events(term):
            group = _group(frame, event)
            if group is not None and group in theirs:
                yield _finding(frame, started, theirs[group], _occurrence(term, event), group[0], function)
                return


def _beside_itself(frame: Frame, started: Started, event: Event, function: str) -> Finding:
    """Several threads of one function, each of which issues the same over the same group, for something else."""
    call = next((t for t in started.terms if type(t) is CallTerm), None)
    return _finding(frame, started, event, Occurrence(event, call), "", function)


def _by_group(frame: Frame, started: Started) -> dict[Written, Event]:
    """The first event of a thread in each group that can be told."""
    found: dict[Written, Event] = {}
    for event in (event for term in started.terms for event in _events(term)):
        group = _group(frame, event)
        if group is not None:
            found.setdefault(group, event)
    return found


def _group(frame: Frame, event: Event) -> Written | None:
    if event.hidden:
        calls = calls_at(frame.analysis, event.path, *event.pos[:2])
        return _MESH if any(last_name(handed_on(call).func) == FULL_TENSOR for _, call in calls) else None
    return written_group(frame.analysis, event) if _is_plain(event) else None


def _issuing(trace: Trace) -> Iterator[Event | CallTerm]:
    return (term for term in every_term(trace) if isinstance(term, Event | CallTerm))


def _occurrence(term: Event | CallTerm, event: Event) -> Occurrence:
    return Occurrence(event, term if isinstance(term, CallTerm) else None)


def _events(term: Event | CallTerm) -> Iterator[Event]:
    """What a term comes to whatever callers pass: a flag among the arguments may switch the rest off."""
    yield from [term] if isinstance(term, Event) else _whatever_is_passed(term.summary, set(), 0)


def _whatever_is_passed(summary: Summary, seen: set[int], depth: int) -> Iterator[Event]:
    if id(summary) in seen or depth > _DEEPEST:
        return
    seen.add(id(summary))
    function = summary.function
    names = {p.name for p in function.parameters} if function is not None else set()
    if function is not None and function.owner is not None and function.parameters:
        names.discard(function.parameters[0].name)
    stack = list(reversed(summary.trace))
    while stack:
        term = stack.pop()
        if isinstance(term, Event):
            yield term
        elif isinstance(term, CallTerm):
            yield from _whatever_is_passed(term.summary, seen, depth + 1)
        elif not (isinstance(term, Choice) and any(n in names for a in atoms(term.formula) for n, _ in a.deps)):
            stack.extend(reversed(parts(term)))


def _is_plain(event: Event) -> bool:
    return not event.hidden and not event.p2p and event.op not in _ENDINGS


def _finding(frame: Frame, started: Started, theirs: Event, here: Occurrence, group: str, function: str) -> Finding:
    """`group`: in which both are issued; "" of what several threads issue."""
    start = frame.step("source", started.pos, f"`{started.text}`: a thread beside what comes after it")
    why = [start]
    if group:
        why.append(Step("event", theirs.path, theirs.pos[0], theirs.pos[1], f"in the thread, {theirs.note}"))
        others = f"over {group} and `{theirs.op}` of the thread that line {started.pos[0]} starts"
    else:
        others = f"of several threads that line {started.pos[0]} starts"
    message = f"`{here.event.op}` {others}: ranks need not issue them in one order"
    divergence = Divergence(here.event.axes, "host", tuple(why), Confidence.MEDIUM)
    return finding(_CODE, message, divergence, [here], (), function, Confidence.MEDIUM)


def _of_collector(frame: Frame, trace: Trace, function: str) -> Iterator[Finding]:
    """What a destructor issues: when it runs is up to the garbage collector of each rank. Where the object has started
    the other processes itself, it is the only one: its last word is an order, which they wait for."""
    alone = _has_started_the_others(frame)
    for term in _issuing(trace):
        for event in filter(_is_plain, _events(term)):
            if alone and event.op.startswith("broadcast"):
                continue
            yield _at_own_time(
                term, event, "run by the garbage collector, at a time of its own", "destructor", function
            )
            return


def _of_handler(trace: Trace, function: str) -> Iterator[Finding]:
    """What a handler of signals issues: each rank is interrupted at another place of what it does, if it gets the
    signal at all."""
    for term in _issuing(trace):
        for event in filter(_is_plain, _events(term)):
            yield _at_own_time(term, event, "run where the process gets a signal", "signal handler", function)
            return


def _at_own_time(term: Event | CallTerm, event: Event, note: str, by: str, function: str) -> Finding:
    why = (Step("source", term.path, term.pos[0], term.pos[1], note),)
    divergence = Divergence(event.axes, "host", why, Confidence.MEDIUM)
    message = f"`{event.op}` is issued by a {by}: when it runs differs between ranks"
    return finding(_CODE, message, divergence, [_occurrence(term, event)], (), function, Confidence.MEDIUM)


def _has_started_the_others(frame: Frame) -> bool:
    """Whether the constructor starts processes, and then the group that this one and they are in."""
    made = frame.analysis.names.method(frame.self_class, "__init__") if frame.self_class is not None else None
    called = {last_name(call.func) for call in made.calls} if made is not None else set()
    return {"Process", "start", "init_process_group"} <= called
