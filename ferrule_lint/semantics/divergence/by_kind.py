"""Ranks on either side of a test of the rank that leave by what kind of thing they have at hand.

`if rank == 0: if not isinstance(x, Tensor): return`, `else: if not isinstance(x, Description): return`, and a broadcast
behind: who sends has described to the others what it has, so that either all of them come to it or none. Which kinds go
together cannot be told from the function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrule_lint.semantics.domain.conditions import atoms
from ferrule_lint.semantics.domain.trace import Choice, Trace, ends, has_exit

_KIND_OF = re.compile(r"\bisinstance\((?P<place>[\w.]+)")


def may_agree(choice: Choice) -> bool:
    """Whether each arm of a choice has a way out of the function under a test of the kind of the same thing, and a way
    past it."""
    if ends(choice.body) or ends(choice.orelse):
        return False
    asked = [set(_asked(arm)) for arm in (choice.body, choice.orelse)]
    return not asked[0].isdisjoint(asked[1])


def _asked(arm: Trace) -> Iterator[str]:
    """The things of whose kind the ways out in an arm ask."""
    for term in arm:
        if type(term) is not Choice:
            continue
        if "return" in (has_exit(term.body), has_exit(term.orelse)):
            for atom in atoms(term.formula) if all(a.divergence is None for a in atoms(term.formula)) else ():
                yield from (match["place"] for match in _KIND_OF.finditer(atom.key))
        yield from _asked(term.body)
        yield from _asked(term.orelse)
