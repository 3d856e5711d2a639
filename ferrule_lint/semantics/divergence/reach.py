"""Is there a way to a choice's arms, or to a loop? What the arms around it ask, and exits before it, can exclude its
own test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ferrule_lint.semantics.domain.conditions import Connective, Formula, Negation, atoms, evaluate, implied, negate
from ferrule_lint.semantics.domain.trace import Attempt, Choice, Loop, Term, Trace, ends, parts
from ferrule_lint.semantics.sources import first_rank

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


def asked_by_one(trace: Trace) -> Iterator[int]:
    """The choices, by their ids, that a single rank comes to, whose answer is nobody else's: `if rank == src: if not
    data: ...`. What follows from it for the other ranks is told of the test that lets the one in."""
    return (id(term) for term in by_one(trace) if type(term) is Choice)


def by_one(trace: Trace, alone: bool = False, turns: bool = False) -> Iterator[Term]:
    """What a single rank comes to. `turns`: in a loop, each round of which may be another rank's (`if i % world ==
    rank`)."""
    for term in trace:
        if alone:
            yield term
        if type(term) is not Choice:
            yield from by_one(parts(term), alone, turns or type(term) is Loop)
            continue
        one, other = (_is_of_one(formula, turns) for formula in (term.formula, negate(term.formula)))
        yield from by_one(term.body, alone or one, turns)
        yield from by_one(term.orelse, alone or other, turns)
        alone = alone or (one and ends(term.orelse)) or (other and ends(term.body))


def _is_of_one(formula: Formula, turns: bool) -> bool:
    """Whether a test that holds says, among other things, that it is one rank, the same in all rounds of a loop."""
    if type(formula) is Connective and formula.op == "and":
        return any(_is_of_one(operand, turns) for operand in formula.operands)
    if type(formula) is Negation and type(formula.operand) is Connective and formula.operand.op == "or":
        return any(_is_of_one(negate(operand), turns) for operand in formula.operand.operands)
    return first_rank.is_of_one(formula) and (not turns or first_rank.is_first(implied(formula, True)))


def _holds_together(formulas: tuple[Formula, ...]) -> bool:
    tests = [atom.key for formula in formulas for atom in atoms(formula)]
    keys = sorted(set(tests))
    if len(keys) > MOST_TESTS or len(keys) == len(tests):
        return True
    return any(
        all(evaluate(formula, dict(zip(keys, outcome, strict=True))) for formula in formulas)
        for outcome in itertools.product((True, False), repeat=len(keys))
    )
