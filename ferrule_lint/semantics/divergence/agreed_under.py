"""Settings under which ranks agree before they leave: `if synced: all_reduce(flag)`, `if done and not synced: break`.

Who made such a setting made it for modules that are in parts, whose forwards all ranks have to run. Where it is off,
that a forward gathers parameters is a guess.
"""

from __future__ import annotations

from ferrule_lint.semantics.divergence.compare import Occurrence
from ferrule_lint.semantics.domain.conditions import implied, implied_alike
from ferrule_lint.semantics.domain.trace import Choice, Event, Term, Trace, choices_and_loops, every_term, has_exit


def is_guess(root: Trace, choice: Choice, occurrences: tuple[Occurrence, ...]) -> bool:
    """Whether a choice leaves by local data only where such a setting is off, and what is skipped are forwards that
    are taken to gather."""
    if not all(o.event.assumed and o.event.hidden for o in occurrences):
        return False
    off = {
        key
        for arm, outcome in ((choice.body, True), (choice.orelse, False))
        if has_exit(arm)
        for key, value in implied_alike(choice.formula, outcome).items()
        if not value
    }
    if not off:
        return False
    others = (o for o in choices_and_loops(root) if type(o) is Choice and o is not choice)
    return any(_holds_one(o, off) and any(map(_agrees, every_term(o.body))) for o in others)


def _holds_one(choice: Choice, settings: set[str]) -> bool:
    """Whether one of these tests holds wherever a choice takes its first arm."""
    return any(holds and key in settings for key, holds in implied(choice.formula, True).items())


def _agrees(term: Term) -> bool:
    return type(term) is Event and not term.hidden and not term.p2p
