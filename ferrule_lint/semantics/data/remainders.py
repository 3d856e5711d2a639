"""Lists that get one item more on those ranks which were dealt an item less: `if rank >= count % world_size`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import told_parts
from ferrule_lint.semantics.data import filling
from ferrule_lint.semantics.domain.assigned import appended_to
from ferrule_lint.semantics.domain.lattice import Value

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_ORDERS = frozenset({"<", "<=", ">", ">="})


def made_up_for(frame: Frame, s: f.If, body_env: dict[str, Value]) -> None:
    """Behind such a test, what gets an item there has as many on every rank, if it was the rank that told how many."""
    if s.orelse or not any(_is_of_the_rest(frame, part) for part, outcome in told_parts(s.test, True) if outcome):
        return
    for statement in s.body:
        place = appended_to(statement) if type(statement) is f.ExprStmt else ""
        before = frame.env.get(place)
        if before is None or before.length is None or before.length.kind != "rank":
            continue
        for env in (body_env, frame.env):
            if (known := env.get(place)) is not None:
                env[place] = filling.filled_up(known)


def _is_of_the_rest(frame: Frame, test: f.Expr) -> bool:
    """Whether a rank is compared with what is left over where something is divided by the number of ranks."""
    if type(test) is not f.Compare or len(test.ops) != 1 or test.ops[0] not in _ORDERS:
        return False
    for rank, rest in ((test.left, test.rights[0]), (test.rights[0], test.left)):
        if type(rest) is f.Op and rest.kind == "Mod" and len(rest.operands) == 2:
            own = frame.eval(rank).divergence
            if own is not None and own.kind == "rank" and frame.eval(rest.operands[1]).world_size:
                return True
    return False
