"""What a round leaves behind that ends by `break` or `continue` under a test that differs between ranks.

`if bad(batch): found = True; break`: the rest of the round is not run with what was set there, but what comes after the
loop is (and, after a `continue`, the next round). Only what is set in the arm that leaves counts: of what was set
before it, or is set after it, the other ways of the round tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.trace import Trace, has_exit
from ferrule_lint.semantics.walk.arms import merge_arms

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


@dataclass(frozen=True, slots=True)
class Way:
    """One way out of a round: what it has set, under which divergent test."""

    kind: str
    formula: Formula
    places: dict[str, Value]


@dataclass(slots=True)
class Rounds:
    """The rounds of a loop that is being walked."""

    #: how many conditions there were around it
    conditions: int
    ways: list[Way] = field(default_factory=list)
    #: tests whose other outcome ends the loop; they hold for whatever follows in the round
    left: list[Formula] = field(default_factory=list)
    #: names that are stepped behind such a test, and why it differs between ranks
    stepped: dict[str, Divergence] = field(default_factory=dict)


def by_arm(frame: Frame, formula: Formula, arm: Trace, env: dict[str, Value], before: dict[str, int]) -> None:
    """At the end of an arm that leaves the round; `before`: what had been assigned how often at its beginning."""
    kind = has_exit(arm)
    if not frame.loops or kind not in ("break", "continue"):
        return
    around = (formula, *reversed(frame.conditions[frame.loops[-1].conditions :]))
    divergent = next((c for c in around if divergence_of(c) is not None), None)
    if divergent is None:
        return
    places = {p: value for p, value in env.items() if frame.versions.get(p, 0) != before.get(p, 0)}
    if places:
        frame.loops[-1].ways.append(Way(kind, divergent, places))


def only_by_leaving(frame: Frame, target: f.Expr, why: Divergence) -> bool:
    """Whether a name is changed on some ranks only because the others have left a loop by `break`: who is still in
    there has changed it as often, and what differs, and `why`, is its value after the loop."""
    divergent = [c for c in frame.conditions if divergence_of(c) is not None]
    owners = [next((r for r in frame.loops if any(c is left for left in r.left)), None) for c in divergent]
    if type(target) is not f.Name or not owners or None in owners:
        return False
    for owner in owners:
        if owner is not None:
            owner.stepped[target.id] = why
    return True


def after_loop(frame: Frame, rounds: Rounds) -> None:
    """What has been stepped behind a `break` under a divergent test is another number where a rank left earlier."""
    for name, divergence in rounds.stepped.items():
        value = frame.env.get(name)
        if value is not None and value.divergence is None:
            frame.env[name] = value._replace(divergence=divergence, uniform=False, const=None)


def join(frame: Frame, ways: Sequence[Way], kind: str) -> None:
    """Bring what the ways of one kind have set into what holds now."""
    for way in ways:
        for place, value in way.places.items() if way.kind == kind else ():
            other = frame.env.get(place)
            if other is not None and other is not value:
                frame.env[place] = merge_arms(way.formula, value, other)
                frame.versions[place] = frame.versions.get(place, 0) + 1
