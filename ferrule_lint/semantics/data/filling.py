"""Lists that are filled up at once: `if len(own) < most: own.extend(items[: most - len(own)])`.

From there on they are as long as the number says, which ranks agree on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.lattice import Value
    from ferrule_lint.semantics.walk.frame import Frame


def filled_up(value: Value) -> Value:
    """A list that is filled up to a length: what it was before counts no more."""
    return value._replace(filled=True, length=None, emptiness=None, length_deps=frozenset())


def lacks(frame: Frame, added: f.Expr, place: str) -> bool:
    """Whether what is added to a list is as much as it lacks to a number that ranks do not differ in:
    `items[: most - len(own)]`, `[nothing] * (most - len(own))`."""
    amounts = added.operands if type(added) is f.Op and added.kind == "Mult" else ()
    if type(added) is f.Subscript and type(added.index) is f.Op and added.index.kind == "Slice":
        amounts = added.index.operands[1:2] if added.index.operands[0] == f.Const("None") else ()
    return any(
        type(amount) is f.Op
        and amount.kind == "Sub"
        and _is_length_of(amount.operands[1], place)
        and frame.eval(amount.operands[0]).divergence is None
        for amount in amounts
    )


def _is_length_of(expr: f.Expr, place: str) -> bool:
    return type(expr) is f.Call and last_name(expr.func) == "len" and [place_name(a) for a in expr.args] == [place]
