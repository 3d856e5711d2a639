"""FER104: events in a loop whose number of rounds differs."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.checks import by_name
from ferrule_lint.checks.build import confidence_of, finding
from ferrule_lint.findings import Confidence, Finding, Step
from ferrule_lint.semantics.data.filters import LEAVES_OUT
from ferrule_lint.semantics.data.selection import KEEPS
from ferrule_lint.semantics.divergence import retried
from ferrule_lint.semantics.divergence.compare import Comparison, Occurrence, first_in_order
from ferrule_lint.semantics.divergence.reach import can_run, way_to
from ferrule_lint.semantics.divergence.ruled_out import RuledOut
from ferrule_lint.semantics.divergence.signatures import issues
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence, taken_with_all
from ferrule_lint.semantics.domain.trace import (
    CallTerm,
    Choice,
    Event,
    Loop,
    Trace,
    choices_and_loops,
    not_the_last,
    takes_each,
)


def check(root: Trace, function: str, ruled_out: RuledOut) -> Iterator[Finding]:
    """One finding for each loop with events whose trip count is divergent along an axis of theirs."""
    for loop in choices_and_loops(root):
        if type(loop) is not Loop or loop.trip is None or _order_says_it(loop) or retried.gets_through(loop):
            continue
        trip = taken_with_all(loop.trip) if takes_each(loop.body) else loop.trip
        others = not_the_last(loop.body)
        lenient = trip.kind in ("host", "data")
        for least in (Confidence.MEDIUM, Confidence.LOW):
            comparison = Comparison(trip.axes, least, lenient, collectives_only=True)
            if not issues(comparison.signature(loop.body, (), others)):
                continue
            occurrences: list[Occurrence] = []
            comparison.occurrences(loop.body, others, occurrences)
            occurrences = [o for o in occurrences if not o.once and not _adds_up(root, loop, o)]
            if not occurrences or not can_run(root, loop) or ruled_out.for_nobody(trip):
                continue
            occurrences = ruled_out.left(root, occurrences)
            if not occurrences:
                continue
            confidence = confidence_of(trip, occurrences)
            if least == Confidence.LOW or _is_guess(root, loop, trip, occurrences, function):
                confidence = Confidence.LOW
            op = occurrences[0].event.named
            message = f"`{op}` runs once a round, but the number of rounds of `{loop.text}` differs between ranks"
            condition = Step("condition", loop.path, loop.pos[0], loop.pos[1], f"`{loop.text}` decides how many rounds")
            yield finding("FER104", message, trip, occurrences, (condition,), function, confidence)
            break


def _adds_up(root: Trace, loop: Loop, occurrence: Occurrence) -> bool:
    """Whether what a round surely issues is issued in each round of other loops as well with which this one makes as
    many rounds on every rank: `for _ in range(warmup)`, and then `for _ in range(total - warmup)`."""
    loops = {term.pos: term for term in choices_and_loops(root) if type(term) is Loop} if loop.sums else {}
    own = _in_each_round(loop.body, occurrence)
    return own > 0 and any(
        all(place in loops and _in_each_round(loops[place].body, occurrence) == own for place in places)
        for places in loop.sums
    )


def _in_each_round(trace: Trace, occurrence: Occurrence) -> int:
    """How often a round issues such an event, or calls the same function, whatever it asks; -1: that depends."""
    call, total = occurrence.call, 0
    for term in trace:
        if type(term) is CallTerm and call is not None:
            total += term.summary is call.summary
        elif type(term) is Event and call is None:
            total += Occurrence(term, None).kind == occurrence.kind
        elif type(term) is Choice:
            either, other = (_in_each_round(arm, occurrence) for arm in (term.body, term.orelse))
            if either != other or either < 0:
                return -1
            total += either
        elif type(term) is Loop and _in_each_round(term.body, occurrence):
            return -1
    return total


def _is_guess(root: Trace, loop: Loop, trip: Divergence, occurrences: list[Occurrence], function: str) -> bool:
    if _two_guesses(loop, occurrences) or _of_some_ranks(root, loop):
        return True
    return by_name.is_guess(root, function, trip, occurrences)


def _two_guesses(loop: Loop, occurrences: list[Occurrence]) -> bool:
    """Whether all that the rounds issue is what wrapping makes of a module, and there are as many of them as something
    of the data holds: a project mostly sees to it that this is the same everywhere, or wraps another module. What goes
    on until a test of the data ends it, or over what a test of each item has left, is mostly seen to by nobody."""
    if loop.tested or loop.trip is None or loop.trip.kind != "data" or loop.trip.confidence == Confidence.HIGH:
        return False
    left = {step.note for step in loop.trip.why}
    if LEAVES_OUT in left:
        return False
    if any(note.endswith(KEEPS) for note in left) and all(o.event.op == "backward" for o in occurrences):
        return False
    return all((o.event.op == "forward" and o.event.assumed) or o.event.op == "backward" for o in occurrences)


def _of_some_ranks(root: Trace, loop: Loop) -> bool:
    """Whether only some ranks come to a loop whose rounds are told by the rank: those may well have as many. That there
    is anything to walk (`if items: for item in items`) is no other question."""
    if loop.trip is None or loop.trip.kind != "rank":
        return False
    on_the_way = (divergence_of(formula) for formula in way_to(root, loop) or ())
    return any(d is not None and d.kind == "rank" and not d.empty for d in on_the_way)


def _order_says_it(loop: Loop) -> bool:
    """Whether FER106 is reported of the same loop for the same reason: other keys come in another order as well."""
    same = loop.order is not None and loop.trip is not None and loop.order.why[:1] == loop.trip.why[:1]
    return same and first_in_order(loop.body, Confidence.MEDIUM) is not None
