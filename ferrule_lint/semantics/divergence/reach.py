"""Is there a way to a choice's arms, or to a loop? What the arms around it ask, and exits before it, can exclude its
own test."""

from __future__ import annotations

import itertools

from ferrule_lint.semantics.domain.conditions import Formula, atoms, evaluate, negate
from ferrule_lint.semantics.domain.trace import Attempt, Choice, Loop, Term, Trace, ends

#: different tests on the way to a choice; with more of them it is taken to be reached
MOST_TESTS = 10


def can_run(root: Trace, place: Choice | Loop) -> bool:
    """Whether some outcome of all tests leads to a loop, or to an arm of a choice in which there is anything."""
    asked = way_to(root, place)
    if asked is None:
        return True
    if type(place) is Loop:
        return _holds_together(asked)
    choice = place
    assert type(choice) is Choice
    return (bool(choice.body) and _holds_together((*asked, choice.formula))) or (
        bool(choice.orelse) and _holds_together((*asked, negate(choice.formula)))
    )


def way_to(trace: Trace, place: Term, asked: tuple[Formula, ...] = ()) -> tuple[Formula, ...] | None:
    """What has to hold where `place` stands; None if it is not in `trace`."""
    for term in trace:
        if term is place:
            return asked
        found = None
        if type(term) is Choice:
            found = way_to(term.body, place, (*asked, term.formula))
            if found is None:
                found = way_to(term.orelse, place, (*asked, negate(term.formula)))
            if ends(term.body):
                asked = (*asked, negate(term.formula))
            elif ends(term.orelse):
                asked = (*asked, term.formula)
        elif type(term) is Loop:
            found = way_to(term.body, place, asked)
        elif type(term) is Attempt:
            for arm in (term.body, *(handler for _, handler in term.handlers)):
                found = way_to(arm, place, asked) if found is None else found
        if found is not None:
            return found
    return None


def _holds_together(formulas: tuple[Formula, ...]) -> bool:
    tests = [atom.key for formula in formulas for atom in atoms(formula)]
    keys = sorted(set(tests))
    if len(keys) > MOST_TESTS or len(keys) == len(tests):
        return True
    return any(
        all(evaluate(formula, dict(zip(keys, outcome, strict=True))) for formula in formulas)
        for outcome in itertools.product((True, False), repeat=len(keys))
    )
