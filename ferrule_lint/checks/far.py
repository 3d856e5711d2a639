"""Events that lie behind several calls.

On a long way some call leads elsewhere, or has been made before. On a shorter one, it may come to the event under tests
of its own only: of 65 findings as far away one was right (`docs/accuracy.md`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ferrule_lint.checks.build import event_steps
from ferrule_lint.facts.types import Pos
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.divergence.compare import GROUP_CREATION, Comparison, Difference, Occurrence
from ferrule_lint.semantics.divergence.signatures import events_of
from ferrule_lint.semantics.domain.axes import overlap
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Trace, every_term

#: an event behind as many calls is a guess
_MOST_CALLS = 7
#: ... behind as many, if some call comes to it under tests of its own only, or data decide who has left before
_MANY_CALLS = 3
#: ... and, under such tests, the call issues no more kinds of collectives than these
_MOST_KINDS = 2


def nearer(found: Difference, divergence: Divergence, least: Confidence) -> Difference:
    """The same with another event of the call, where the one that was found is far away."""
    first = found.occurrences[0]
    if first.call is None or not _is_behind(first, _MOST_CALLS):
        return found
    for event in first.call.summary.events:
        near = first._replace(event=event)
        if event.confidence >= least and overlap(divergence.axes, event.axes) and not _is_behind(near, _MOST_CALLS):
            return found._replace(occurrences=(near, *found.occurrences[1:]))
    return found


def is_guess(occurrences: Sequence[Occurrence], divergence: Divergence) -> bool:
    """Whether events are so far away that it is a guess that ranks which differ come to them. Of a test for the rank of
    the job the tests on the way are none of its business: these are settings, and what they let in is wrong."""
    if _is_behind(occurrences[0], _MOST_CALLS):
        return True
    if divergence.kind == "rank" and "world" in divergence.axes:
        return False
    question = Comparison(divergence.axes, Confidence.MEDIUM, lenient=True)
    return all(_is_behind(o, _MANY_CALLS) and _may_be_none(o, question) for o in occurrences)


def is_made_before(root: Trace, choice: Choice, occurrences: Sequence[Occurrence]) -> bool:
    """Whether all that differs are groups which a call before the choice has come to as well, several calls away:
    `self.place`, and later `self.model` under a test, both of the group that a function makes once and keeps."""
    if not all(o.event.op in GROUP_CREATION and _is_behind(o, _MANY_CALLS) for o in occurrences):
        return False
    made: set[tuple[str, Pos]] = set()
    for term in itertools.takewhile(lambda t: t is not choice, every_term(root)):
        if type(term) is CallTerm:
            made |= {(e.path, e.pos) for e in term.summary.events if e.op in GROUP_CREATION}
    return all((o.event.path, o.event.pos) in made for o in occurrences)


def is_out_of_reach(occurrences: Sequence[Occurrence], divergence: Divergence) -> bool:
    """Whether what some ranks leave is far away from where they do, and data or the system decides: a way out of one
    function has mostly no part in what another one does for it, three calls on."""
    return divergence.kind != "rank" and all(_is_behind(o, _MANY_CALLS) for o in occurrences)


def _is_behind(occurrence: Occurrence, calls: int) -> bool:
    steps = event_steps(occurrence)[:calls]
    return len(steps) == calls and all(step.role == "call" for step in steps)


def _may_be_none(occurrence: Occurrence, question: Comparison) -> bool:
    """Whether a call may well issue nothing: the little that it does is under tests. A step of training or evaluation,
    with collectives of many kinds, issues some."""
    if occurrence.call is None:
        return False
    if len({(e.op, e.axes) for e in occurrence.call.summary.events if question.counts(e)}) > _MOST_KINDS:
        return False
    surely = events_of(question.call_signature(occurrence.call.summary), surely=True)
    return all(op != occurrence.event.op for op, *_ in surely)
