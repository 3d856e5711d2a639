"""Settings under which ranks agree before they leave: `if synced: all_reduce(flag)`, `if done and not synced: break`.

Who made such a setting made it for modules that are in parts, whose forwards all ranks have to run. Where it is off,
that a forward gathers parameters is a guess.
"""

from __future__ import annotations

from ferrule_lint.semantics.divergence.compare import Occurrence
from ferrule_lint.semantics.domain.conditions import atoms, implied
from ferrule_lint.semantics.domain.trace import Choice, Event, Trace, choices_and_loops, every_term, has_exit


def is_guess(root: Trace, choice: Choice, occurrences: tuple[Occurrence, ...]) -> bool:
    """Whether a choice leaves by local data only where such a setting is off, and what is skipped are forwards that
    are taken to gather."""
    if not all(o.event.assumed and o.event.hidden for o in occurrences):
        return False
    shared = {atom.key for atom in atoms(choice.formula) if atom.divergence is None}
    off = {
        key
        for arm, outcome in ((choice.body, True), (choice.orelse, False))
        if has_exit(arm)
        for key, value in implied(choice.formula, outcome).items()
        if key in shared and not value
    }
    return any(
        implied(other.formula, True).get(key) is True and any(_agrees(term) for term in every_term(other.body))
        for other in choices_and_loops(root)
        if off and type(other) is Choice and other is not choice
        for key in off
    )


def _agrees(term: object) -> bool:
    return type(term) is Event and not term.hidden and not term.p2p
