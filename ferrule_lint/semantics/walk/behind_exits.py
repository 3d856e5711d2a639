"""What is put into a list or dict behind a `return` that some ranks have taken.

Who is still in the function has come the same way: for all of them it holds as much. Whoever called it gets it from
those who have left, too, with less in it; and so does who looks at an attribute, which outlives the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence, worse
from ferrule_lint.semantics.domain.trace import Choice, Term, every_event, has_exit
from ferrule_lint.semantics.walk import given
from ferrule_lint.semantics.walk.frame import Frame


def leaves_function(frame: Frame, last: Term) -> bool:
    """Whether an `if` that some do not come out of lets them out of the function, and not of a round."""
    if frame.loop_depth or frame.loops or type(last) is not Choice:
        return False
    return {has_exit(last.body), has_exit(last.orelse)} <= {"", "return"}


def concerns_callers(frame: Frame, place: str, why: Divergence) -> bool:
    """Whether none but ranks that have left the function put nothing into a variable here: that they do not, `why`, is
    for those who get what it hands back."""
    told = [i for i, condition in enumerate(frame.conditions) if divergence_of(condition) is not None]
    if not told or not frame.gone.issuperset(told) or not _is_own(frame, place):
        return False
    frame.fuller[place] = why
    return True


def _is_own(frame: Frame, place: str) -> bool:
    """Whether a place is a variable of this function alone."""
    function = frame.function
    if function is None or not place.isidentifier() or given.stands_for_passed(frame, place):
        return False
    return any(True for _ in assignments(function.body, place))


@contextmanager
def as_returned(frame: Frame) -> Iterator[None]:
    """Variables as a caller sees them who also hears of the ranks that have left before."""
    fuller = () if _wait_for_others(frame) else frame.fuller
    known = {place: value for place in fuller if (value := frame.env.get(place)) is not None and value.container}
    for place, value in known.items():
        frame.env[place] = value._replace(length=worse(value.length, frame.fuller[place]), uniform=False)
    yield
    frame.env.update(known)


def _wait_for_others(frame: Frame) -> bool:
    """Whether ranks have met behind the last way out: who is still in the function waits for those who have left, which
    is what there is to say, and none comes to the caller with more."""
    left = [i for i, term in enumerate(frame.terms) if type(term) is Choice and _returns(term)]
    behind = tuple(frame.terms[left[-1] + 1 :]) if left else ()
    return any(not e.hidden and not e.p2p and e.confidence > Confidence.LOW for e in every_event(behind))


def _returns(choice: Choice) -> bool:
    return "return" in (has_exit(choice.body), has_exit(choice.orelse))
