"""The last call of a rank that leads: it leaves a loop of calls, and makes the same call once more to tell the others.

`while not is_over(): step()`, out of which the first rank breaks when all is done, and `shut_down()` behind it, which
steps once more with that message: the others, still in the loop, take it in their next step, and leave by the test of
the loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.semantics.divergence.compare import Occurrence
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Loop, Term, Trace, every_term, has_exit, parts


def is_said(root: Trace, choice: Choice, occurrences: tuple[Occurrence, ...]) -> bool:
    """Whether a choice leaves a loop that its test ends for others, and what is skipped is called again behind it."""
    loop = next((t for t in every_term(root) if type(t) is Loop and any(part is choice for part in t.body)), None)
    if loop is None or not loop.tested or loop.text == "True":
        return False
    if "break" not in (has_exit(choice.body), has_exit(choice.orelse)):
        return False
    skipped = {o.call.summary.function.id for o in occurrences if o.call is not None and o.call.summary.function}
    return bool(skipped) and any(skipped & _called(term) for term in _behind(root, loop))


def _behind(trace: Trace, place: Term) -> Iterator[Term]:
    """What follows a term, where it stands and further out."""
    for i, term in enumerate(trace):
        if term is place:
            yield from trace[i + 1 :]
            return
        inner = parts(term)
        if any(part is place for part in every_term(inner)):
            yield from _behind(inner, place)
            yield from trace[i + 1 :]
            return


def _called(term: Term) -> set[str]:
    """The functions that a term calls, and those that they call themselves."""
    calls = [part for part in every_term((term,)) if type(part) is CallTerm]
    calls += [inner for call in calls for inner in every_term(call.summary.trace) if type(inner) is CallTerm]
    return {call.summary.function.id for call in calls if call.summary.function is not None}
