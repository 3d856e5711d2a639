"""What a round leaves behind that ends by `break` or `continue` under a test that differs between ranks.

`if bad(batch): found = True; break`: the rest of the round is not run with what was set there, but what comes after the
loop is (and, after a `continue`, the next round). Of what is set in the arm that leaves, this is told; and of what is
set after a `continue`, that its rounds have left it as it was: `if not is_last: continue` and `total = ...` is
`if is_last: total = ...`. Of what is set after a `break`, the other ways of the round tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of, negate
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.trace import Trace, has_exit
from ferrule_lint.semantics.gradients import meeting
from ferrule_lint.semantics.walk.arms import merge_arms

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


@dataclass(frozen=True, slots=True)
class Way:
    """One way out of a round: what it has set, under which divergent test."""

    kind: str
    formula: Formula
    places: dict[str, Value]
    #: of a `continue`: what all places held, and the last number of one
    env: dict[str, Value]
    clock: int


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


def by_arm(frame: Frame, formula: Formula, arm: Trace, env: dict[str, Value], before: int) -> None:
    """At the end of an arm that leaves the round; `before`: the last number of a place at its beginning."""
    kind = has_exit(arm)
    if not frame.loops or kind not in ("break", "continue"):
        return
    around = (formula, *reversed(frame.conditions[frame.loops[-1].conditions :]))
    divergent = next((c for c in around if divergence_of(c) is not None), None)
    if divergent is None:
        return
    if kind == "continue" and divergent is not formula and _have_left(frame.loops[-1], divergent):
        divergent = formula  # who is not here has left the round before: either way it is left as it was
    places = {p: value for p, value in env.items() if frame.versions.get(p, 0) > before}
    if places or kind == "continue":
        frame.loops[-1].ways.append(Way(kind, divergent, places, dict(env) if kind == "continue" else {}, frame.clock))


def _have_left(rounds: Rounds, condition: Formula) -> bool:
    """Whether those for whom a condition does not hold have ended their round by `continue`."""
    return any(way.kind == "continue" and condition == negate(way.formula) for way in rounds.ways)


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
    """Bring what the ways of one kind have set, or left as it was, into what holds now."""
    last = dict(frame.versions)
    for way in reversed(ways):
        if way.kind != kind:
            continue
        now = dict(frame.env) if frame.gradients else {}
        skipped = {p: value for p, value in way.env.items() if last.get(p, 0) > way.clock}
        for place, value in {**skipped, **way.places}.items():
            other = frame.env.get(place)
            if other is not None and other is not value:
                frame.env[place] = merge_arms(way.formula, value, other)
                frame.renew(place)
        if frame.gradients:
            meeting.collected(way.formula, way.env, now, frame.env)
