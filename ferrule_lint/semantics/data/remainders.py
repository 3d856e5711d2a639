"""Lists that get one item more on those ranks which were dealt an item less: `if rank >= count % world_size`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, told_parts
from ferrule_lint.semantics.data import filling
from ferrule_lint.semantics.domain.assigned import appended_to
from ferrule_lint.semantics.domain.dependences import DEALT
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name, render

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: how the rank compares with the number of those that have one more
_BEHIND = frozenset({">", ">="})
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NOTHING = f.Const("None")


def made_up_for(frame: Frame, s: f.If, body_env: dict[str, Value]) -> None:
    """Behind such a test, what gets an item there has as many on every rank, if it was the rank that told how many."""
    if s.orelse:
        return
    rests = [rank for part, outcome in told_parts(s.test, True) if outcome for rank in _of_the_rest(frame, part)]
    for statement in s.body if rests else ():
        place = _gets_one(statement)
        before = frame.env.get(place)
        if before is None or not any(_is_dealt_by(frame, before, rank) for rank in rests):
            continue
        for env in (body_env, frame.env):
            if (known := env.get(place)) is not None:
                env[place] = filling.filled_up(known)


def _is_dealt_by(frame: Frame, share: Value, rank: f.Expr) -> bool:
    """Whether it is the rank that tells how many items a share has: this one's, or that which callers pass."""
    if share.length is not None:
        own = frame.ask(rank).divergence
        return share.length.kind == "rank" and own is not None and own.kind == "rank"
    return (place_name(rank), DEALT) in share.length_deps


def _of_the_rest(frame: Frame, test: f.Expr) -> Iterator[f.Expr]:
    """The rank, where that is compared with what is left over where something is divided by the number of ranks:
    `rank >= extra`, `0 < extra <= rank`."""
    if type(test) is not f.Compare:
        return
    sides = (test.left, *test.rights)
    for left, op, right in zip(sides, test.ops, sides[1:], strict=False):
        for rank, how, rest in ((left, op, right), (right, _TURNED.get(op, op), left)):
            divisor = _divided_by(frame, rest) if how in _BEHIND else None
            if divisor is not None and (frame.ask(divisor).world_size or _is_given(frame, divisor)):
                yield rank


def _is_given(frame: Frame, divisor: f.Expr) -> bool:
    """Whether a number is one that callers pass."""
    return type(divisor) is f.Name and any(name == divisor.id for name, _ in frame.ask(divisor).deps)


def _divided_by(frame: Frame, rest: f.Expr) -> f.Expr | None:
    """`n` of `len(items) % n`, also under a name, and of `each, rest = divmod(len(items), n)`."""
    if type(rest) is f.Name and frame.function is not None:
        found = frame.analysis.bodies.once(_left_over, frame.function.body).get(rest.id, [])
        return found[0] if len(found) == 1 else None
    return rest.operands[1] if type(rest) is f.Op and rest.kind == "Mod" and len(rest.operands) == 2 else None


def _left_over(body: f.Body) -> dict[str, list[f.Expr | None]]:
    """What the names are divided by that hold what is left over, each as often as it is set; None: something else."""
    found: dict[str, list[f.Expr | None]] = {}
    for s in statements(body):
        for target in s.targets if type(s) is f.Assign else ():
            value = s.value if type(s) is f.Assign else None
            if type(target) is f.Sequence:
                both = len(target.elements) == 2 and type(value) is f.Call and last_name(value.func) == "divmod"
                for i, part in enumerate(target.elements):
                    rest = value.args[1] if both and i == 1 and type(value) is f.Call and len(value.args) == 2 else None
                    found.setdefault(place_name(part), []).append(rest)
            else:
                left = type(value) is f.Op and value.kind == "Mod" and len(value.operands) == 2
                rest = value.operands[1] if left and type(value) is f.Op else None
                found.setdefault(place_name(target), []).append(rest)
    return found


def _gets_one(s: f.Stmt) -> str:
    """The place that gets one item more by a statement: `own.append(x)`, `own += [x]`, `own = own + own[-1:]`."""
    if type(s) is f.ExprStmt:
        return appended_to(s)
    if type(s) is f.AugAssign:
        return place_name(s.target) if s.op == "Add" and _is_one(s.value) else ""
    if type(s) is not f.Assign or len(s.targets) != 1:
        return ""
    place, made = place_name(s.targets[0]), s.value
    if type(made) is not f.Op or made.kind != "Add" or len(made.operands) != 2:
        return ""
    added = [o for o in made.operands if place_name(o) != place]
    return place if len(added) == 1 and _is_one(added[0]) else ""


def _is_one(expr: f.Expr) -> bool:
    """Whether something holds one item: `[x]`, `own[-1:]`, `items[:1]`."""
    if type(expr) is f.Sequence:
        return len(expr.elements) == 1 and type(expr.elements[0]) is not f.Starred
    if type(expr) is not f.Subscript or type(expr.index) is not f.Op or expr.index.kind != "Slice":
        return False
    ends = [render(e) for e in expr.index.operands]
    return ends in (["-1", "None", "None"], ["None", "1", "None"], ["0", "1", "None"])
