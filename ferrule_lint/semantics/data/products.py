"""Products of matrices: `x.T @ y` sums over the rows of both, so that their number is nobody's concern."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.dependences import FLOWS, ITEM, NO_DEPS, recast
from ferrule_lint.semantics.domain.lattice import Value

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: methods that leave the dimensions of a tensor as they are
_LEAVE = frozenset("to type type_as float half double bfloat16 int long bool contiguous detach clone cuda cpu".split())
#: such methods behind each other
_DEEPEST = 4
#: what `transpose` or `permute` is given that turns a tensor of two dimensions on its side
_TURNS = {("0", "1"), ("1", "0"), ("-1", "-2"), ("-2", "-1"), ("0", "-1"), ("-1", "0")}


def operands(frame: Frame, e: f.Op, values: list[Value]) -> list[Value]:
    """What the operands of `left @ right` say of the product: the columns of one and the rows of the other are summed
    away. Which dimension of a parameter is uneven is not known: as with other tensors, it is taken to be the first."""
    left, right = (
        value._replace(uneven_last=not value.uneven_last) if _is_turned(frame, factor) else value
        for factor, value in zip(e.operands, values, strict=True)
    )
    return [_summed(left) if left.uneven_last else left, right if right.uneven_last else _summed(right)]


def _summed(value: Value) -> Value:
    """A factor whose uneven dimension is summed over."""
    value = value._replace(deps=recast(value.deps, ITEM, FLOWS), length=None, length_deps=NO_DEPS)
    return value._replace(shape=None, shape_deps=NO_DEPS, uneven_last=False)


def _is_turned(frame: Frame, e: f.Expr) -> bool:
    """Whether the two dimensions of a matrix have changed places: `x.T`, `x.t()`, `x.transpose(0, 1)`."""
    e = definition(frame, e)
    for _ in range(_DEEPEST):  # `x = x.float()` in a loop is made of itself
        if type(e) is not f.Call or type(e.func) is not f.Attr or e.func.attr not in _LEAVE:
            break
        e = definition(frame, e.func.base)
    if type(e) is f.Attr:
        return e.attr in ("T", "mT")
    if type(e) is not f.Call or type(e.func) is not f.Attr or e.keywords:
        return False
    if e.func.attr == "t":
        return not e.args
    places = tuple(arg.text if type(arg) is f.Const else "" for arg in e.args)
    if e.func.attr in ("permute", "transpose", "swapaxes", "transpose_"):
        return places in _TURNS or (places == () and e.func.attr == "transpose")  # numpy's `x.transpose()`
    return False
