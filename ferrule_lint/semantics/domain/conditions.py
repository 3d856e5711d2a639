"""Conditions as formulas over atoms.

Two tests with the same key have the same value, so complementary and repeated tests are the same atom. Terms that
are known (a literal, "there is more than one rank") fold away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ferrule_lint.semantics.domain.dependences import NO_DEPS, Deps
from ferrule_lint.semantics.domain.lattice import Divergence, worse


class Known(NamedTuple):
    value: bool


class Atom(NamedTuple):
    """One test. `key` identifies it; `deps` are the parameters its outcome depends on."""

    key: str
    divergence: Divergence | None
    deps: Deps


class Negation(NamedTuple):
    operand: Formula


class Connective(NamedTuple):
    op: str
    operands: tuple[Formula, ...]


Formula: TypeAlias = Known | Atom | Negation | Connective

#: how the keys of tests begin that hold in the last round of a loop
LAST_ROUND = "@last:"
#: and those that an exception is caught
CAUGHT = "exception at "

TRUE = Known(True)
FALSE = Known(False)


def is_caught(formula: Formula) -> bool:
    """Whether a condition is that a handler has caught something."""
    return type(formula) is Atom and formula.key.startswith(CAUGHT)


def negate(formula: Formula) -> Formula:
    if type(formula) is Known:
        return FALSE if formula.value else TRUE
    if type(formula) is Negation:
        return formula.operand
    return Negation(formula)


def connect(op: str, operands: list[Formula]) -> Formula:
    """`and` / `or` of formulas, with known terms folded."""
    decides = op == "or"
    kept: list[Formula] = []
    for operand in operands:
        if type(operand) is Known:
            if operand.value is decides:
                return operand
            continue
        kept.append(operand)
    if not kept:
        return FALSE if decides else TRUE
    return kept[0] if len(kept) == 1 else Connective(op, tuple(kept))


def atoms(formula: Formula) -> Sequence[Atom]:
    while type(formula) is Negation:
        formula = formula.operand
    if type(formula) is Atom:
        return (formula,)
    if type(formula) is Connective:
        return [atom for operand in formula.operands for atom in atoms(operand)]
    return ()


def with_atoms(formula: Formula, change: Callable[[Atom], Atom]) -> Formula:
    """The formula with each of its tests changed."""
    if type(formula) is Atom:
        return change(formula)
    if type(formula) is Negation:
        return Negation(with_atoms(formula.operand, change))
    if type(formula) is Connective:
        return formula._replace(operands=tuple([with_atoms(operand, change) for operand in formula.operands]))
    return formula


def evaluate(formula: Formula, assignment: Mapping[str, bool]) -> bool | None:
    """The formula's value, or None while an atom that matters is not assigned."""
    if type(formula) is Known:
        return formula.value
    if type(formula) is Atom:
        return assignment.get(formula.key)
    if type(formula) is Negation:
        value = evaluate(formula.operand, assignment)
        return None if value is None else not value
    assert type(formula) is Connective
    decides = formula.op == "or"
    values = [evaluate(o, assignment) for o in formula.operands]
    if decides in values:
        return decides
    return None if None in values else not decides


def implied(formula: Formula, value: bool) -> dict[str, bool]:
    """The outcomes of single tests that follow from the formula having this value."""
    if type(formula) is Atom:
        return {formula.key: value}
    if type(formula) is Negation:
        return implied(formula.operand, not value)
    if type(formula) is Connective and (formula.op == "and") is value:
        return {key: outcome for operand in formula.operands for key, outcome in implied(operand, value).items()}
    return {}


def implied_alike(formula: Formula, value: bool) -> dict[str, bool]:
    """Of `implied`, the outcomes of tests that all ranks answer alike."""
    shared = {atom.key for atom in atoms(formula) if atom.divergence is None}
    return {key: outcome for key, outcome in implied(formula, value).items() if key in shared}


def lets_others_in(formula: Formula) -> bool:
    """Whether ranks on either side of the divergent tests in a formula may meet it: `rank == 0 or is_expert(p)`."""
    differ = [a.key for a in atoms(formula) if a.divergence is not None]
    return all(evaluate(formula, dict.fromkeys(differ, side)) is not False for side in (True, False))


def divergence_of(formula: Formula) -> Divergence | None:
    if type(formula) is Atom:
        return formula.divergence
    result: Divergence | None = None
    for atom in atoms(formula):
        result = worse(result, atom.divergence)
    return result


def deps_of(formula: Formula) -> Deps:
    result = NO_DEPS
    for atom in atoms(formula):
        result |= atom.deps
    return result
