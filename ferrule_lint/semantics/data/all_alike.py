"""Whether all ranks have the same: `all(theirs == mine for theirs in gathered)`, of what each has put there.

Each rank compares with what is its own, and still all have one answer: where all are equal, every rank says so; where
two are not, each has another that differs from its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: what each rank puts in and what is filled with it stand side by side in calls of these
_GATHERS = frozenset({"all_gather_object", "all_gather"})

#: the comparison that tells whether all are alike, by what asks it of each
_ASKS = {"all": ("==",), "any": ("!=",)}


def is_asked(frame: Frame, asks: str, asked: f.Expr) -> bool:
    """`asks`: "any" or "all"; `asked`: what that is asked of."""
    if type(asked) is not f.Comprehension or len(asked.generators) != 1 or frame.function is None:
        return False
    generator, test = asked.generators[0], asked.elements[0]
    if type(test) is not f.Compare or test.ops != _ASKS.get(asks) or generator.conditions:
        return False
    target, gathered = place_name(generator.target), place_name(generator.iterable)
    sides = (place_name(test.left), place_name(test.rights[0]))
    if not target or target not in sides or not gathered:
        return False
    mine = sides[1] if sides[0] == target else sides[0]
    if not mine or mine == target:
        return False
    together = frame.analysis.bodies.once(_gathered_together, frame.function.body)
    return any(one == {gathered, mine} and line <= asked.pos[0] for one, line in together)


def _gathered_together(body: f.Body) -> list[tuple[set[str], int]]:
    """The two places that each gather over all ranks is given in a body, and where it stands."""
    calls = [call for call in nodes(body, f.Call) if last_name(call.func) in _GATHERS and len(call.args) == 2]
    calls = [call for call in calls if all(name != "group" for name, _ in call.keywords)]
    return [({place_name(call.args[0]), place_name(call.args[1])}, call.pos[0]) for call in calls]
