"""Broadcasts of which a function has both halves apart: one under a test, the other under its opposite elsewhere.

`if not last: receive()` at the beginning of a step and `if last and is_async: send(tokens)` at its end, or in the next
step, are one transfer: each side stands where it is ready, and under settings of its own. Whether these agree cannot be
told.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.semantics.divergence.compare import Occurrence
from ferrule_lint.semantics.domain.axes import Axes
from ferrule_lint.semantics.domain.conditions import Formula, atoms, implied
from ferrule_lint.semantics.domain.trace import Choice, Trace, choices_and_loops, every_event, every_term

#: what a test of the rank asks, however the group is called (`get_pp_group().is_last_rank`, `pp.is_last_rank`), and
#: the answer
_Answer = tuple[str, bool]


def is_half(root: Trace, choice: Choice, occurrences: tuple[Occurrence, ...]) -> bool:
    """Whether what a choice on the rank alone issues are broadcasts that stand under the opposite test elsewhere."""
    operations = {(o.event.op, o.event.axes) for o in occurrences}
    if not all(op.startswith("broadcast") for op, _ in operations):
        return False
    mine = {id(term) for term in every_term((choice,))}
    opposite = {
        (asked, not answer)
        for answers, arm in _arms(choice)
        if operations & _operations(arm)
        for asked, answer in answers
    }
    others = (o for o in choices_and_loops(root) if type(o) is Choice and id(o) not in mine)
    return any(
        not opposite.isdisjoint(answers) and operations <= _operations(arm)
        for other in others
        if not any(term is choice for term in every_term((other,)))
        for answers, arm in _arms(other)
    )


def _arms(choice: Choice) -> Iterator[tuple[set[_Answer], Trace]]:
    yield _answers(choice.formula, True), choice.body
    yield _answers(choice.formula, False), choice.orelse


def _answers(formula: Formula, value: bool) -> set[_Answer]:
    by_rank = {a.key for a in atoms(formula) if a.divergence is not None and a.divergence.kind == "rank"}
    return {(key.rpartition(".")[2], answer) for key, answer in implied(formula, value).items() if key in by_rank}


def _operations(trace: Trace) -> set[tuple[str, Axes]]:
    return {(event.op, event.axes) for event in every_event(trace)}
