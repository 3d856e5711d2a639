"""`rank is not None and rank != 0`, `rank is None or rank == 0`: a rank that is asked for in front of a test of it.

The first half keeps the second from failing where nobody says which rank this is, because there is one process. In a
job each has its number, so that only the second half is asked: "the others wait, the first works, the first waits"
stays balanced where one of the two tests has such a half and the other has none. So it is with an object that knows the
rank, `accelerator is None or accelerator.is_main_process`: where there is none, there is one process.
"""

from __future__ import annotations

from collections.abc import Sequence

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import Formula, Known, atoms, divergence_of
from ferrule_lint.semantics.walk.frame import Frame

_ASKS = {"and": ("is not", "!="), "or": ("is", "==")}
_NONE = f.Const("None")


def taken_for_granted(frame: Frame, op: str, operands: Sequence[f.Expr], formulas: Sequence[Formula]) -> list[Formula]:
    """The terms of `and` and `or`, without those that a rank of a job passes."""
    kept = list(formulas)
    for i, (operand, formula) in enumerate(zip(operands, formulas, strict=False)):
        if any(atom.divergence is not None for atom in atoms(formula)) or (place := _asked(operand, op)) is None:
            continue
        others = [*zip(operands[i + 1 :], formulas[i + 1 :], strict=False)]
        if any(_knows_rank(frame, other, term, place) for other, term in others) or (
            _is_rank(frame, place)
            and any(_tests(frame, other, place) and any(a.divergence for a in atoms(term)) for other, term in others)
        ):
            kept[i] = Known(op == "and")
    return kept


def in_one_test(frame: Frame, s: f.If) -> f.If:
    """The inner one of `if rank is not None: if rank != 0: ...`, which is all that a rank of a job is asked."""
    inner = s.body[0] if len(s.body) == 1 and not s.orelse else None
    if type(inner) is not f.If or inner.orelse or (place := _asked(s.test, "and")) is None:
        return s
    return inner if _is_rank(frame, place) and _tests(frame, inner.test, place) else s


def _asked(expr: f.Expr, op: str) -> f.Expr | None:
    """What `x is not None` asks for, or `x is None` in front of `or`."""
    if type(expr) is not f.Compare or len(expr.ops) != 1 or expr.ops[0] not in _ASKS[op] or expr.rights[0] != _NONE:
        return None
    return expr.left if type(expr.left) in (f.Name, f.Attr) else None


def _knows_rank(frame: Frame, expr: f.Expr, formula: Formula, place: f.Expr) -> bool:
    """Whether a test is about the rank in the job that an object tells, which has been asked for: `x.is_main_process`,
    `x.global_rank == 0`."""
    divergence = divergence_of(formula)
    if divergence is None or divergence.kind != "rank" or divergence.axes != WORLD or divergence.member:
        return False
    asked = expr.operand if type(expr) is f.Not else expr
    asked = asked.left if type(asked) is f.Compare else asked
    asked = asked.func if type(asked) is f.Call else asked
    return type(asked) is f.Attr and frame.key(asked.base) == frame.key(place)


def _is_rank(frame: Frame, place: f.Expr) -> bool:
    value = frame.eval(place)
    return value.rank[:1] == "#" and value.divergence is not None and value.presence is None


def _tests(frame: Frame, expr: f.Expr, place: f.Expr) -> bool:
    """`x == 0`, `x not in (-1, 0)`: a comparison of the place with something written."""
    if type(expr) is not f.Compare or len(expr.ops) != 1 or type(expr.rights[0]) not in (f.Const, f.Sequence):
        return False
    return type(expr.left) is type(place) and frame.key(expr.left) == frame.key(place)
