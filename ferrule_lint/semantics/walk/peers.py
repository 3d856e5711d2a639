"""Loops over the ranks of a group in which each leaves itself out: `for peer in range(n): if peer == rank: continue`.

A rank asks of the others what they ask of it (`if not can_reach(rank, peer): return False`). That it passes over
another round than they do says nothing of what it hands back or sets in the rounds that are left.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of
from ferrule_lint.semantics.walk.frame import Frame


def leaves_out(frame: Frame, s: f.If, formula: Formula) -> bool | None:
    """With which outcome a test of a loop does no more than to leave out the round that is the rank's own; None if it
    is no such test."""
    divergence = divergence_of(formula)
    if not frame.rounds or divergence is None or divergence.kind != "rank":
        return None
    test, own = s.test, True
    while type(test) is f.Not:
        test, own = test.operand, not own
    if type(test) is not f.Compare or test.ops not in (("==",), ("!=",)):
        return None
    own = own is (test.ops == ("==",))
    numbers = {node.id for node in walk((frame.rounds[-1].statement.target,)) if type(node) is f.Name}
    asks = any(type(side) is f.Name and side.id in numbers for side in (test.left, *test.rights))
    return own if asks and [*map(type, s.body if own else s.orelse)] == [f.Continue] else None
