"""Blocks that ranks run one after another: the first rank before the others, with a barrier between.

`with main_process_first():` and its like let the first rank through and keep the others at a barrier that it comes to
after the block. A collective in the block waits for ranks that wait at that barrier.
"""

from __future__ import annotations

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.divergence.compare import Comparison, Occurrence
from ferrule_lint.semantics.divergence.signatures import ALIKE
from ferrule_lint.semantics.domain.axes import overlap
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of, negate
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Term, Trace, choices_and_loops, ends
from ferrule_lint.semantics.sources import first_rank
from ferrule_lint.semantics.walk.frame import CallIssue, Frame


def divides(frame: Frame, entered: Trace) -> Divergence | None:
    """Why the ranks go through a block one after another, told by what the call of its context manager issues."""
    for term in entered:
        if type(term) is Event and term.op in ALIKE and term.hidden:
            return frame.source(term.axes, "rank", term.pos, "one rank goes first, the others wait", term.confidence)
        if type(term) is CallTerm and (found := _halves(term)) is not None:
            return found.then(frame.step("call", term.pos, f"`{term.summary.display}` lets one rank go first"))
    return None


def _halves(call: CallTerm) -> Divergence | None:
    """The test of the rank of a generator that has some ranks wait before it yields, and the others afterwards."""
    function, events = call.summary.function, call.summary.events
    if function is None or not function.is_context_manager or any(e.op not in ALIKE for e in events):
        return None
    choices = [c for c in choices_and_loops(call.summary.trace) if type(c) is Choice]
    if len(choices) != 2:
        return None
    before, after = map(_of_those_who_act, choices)
    asks, asks_back = first_rank.of(before), first_rank.of(negate(after))
    if not asks or asks != asks_back:
        return None
    divergence = divergence_of(choices[0].formula)
    return divergence if divergence is not None and divergence.kind == "rank" else None


def _of_those_who_act(choice: Choice) -> Formula:
    """What holds for the ranks that go on at a choice, where the others leave: `if not first: return`."""
    return negate(choice.formula) if ends(choice.body) and not choice.orelse else choice.formula


def check(frame: Frame, divergence: Divergence, block: list[Term]) -> None:
    """Report the first collective, other than a barrier, that every rank comes to in such a block."""
    straight = tuple(t for t in block if type(t) is Event or type(t) is CallTerm)
    found: list[Occurrence] = []
    question = Comparison(divergence.axes, Confidence.MEDIUM, lenient=False, surely=True, inside=True)
    question.occurrences(straight, {}, found)
    for occurrence in found:
        event, pos = occurrence.event, (occurrence.call or occurrence.event).pos
        if event.op in ALIKE or event.p2p or not overlap(divergence.axes, event.axes):
            continue
        elsewhere = event.op == "forward" and event.hidden and event.path != frame.module.path
        if event.assumed or elsewhere:
            continue  # what is prepared one after another runs encoders of its own, more often than what is trained
        message = (
            f"`{event.op}` in a block that one rank runs before the others: they wait for it in front of the block"
        )
        frame.issues.append(CallIssue("FER102", pos, divergence, event, message))
        return
