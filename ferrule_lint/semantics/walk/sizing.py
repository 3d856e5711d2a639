"""Tensors whose own size a test compares with one that the ranks agreed on: `if x.shape[1] >= longest: return x`.

Where the test says that it is as long, all ranks have that size. A function that asks so of a parameter is there to
give it back in one size: also where it has too few dimensions to be filled up.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.dependences import FLOWS, NO_DEPS, SIZED, recast
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.walk.frame import Frame

#: how a size compares with another if a test is true, or if it is not
_AS_LONG = {True: frozenset({"==", ">=", ">"}), False: frozenset({"!=", "<", "<="})}
#: calls that only read a number
_READS = frozenset({"int", "item", "max"})
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def as_long_as_agreed(frame: Frame, told: Iterable[tuple[f.Expr, bool]]) -> list[str]:
    """The places that have the size which the ranks agreed on if tests have the outcomes `told`."""
    return [place for part, holds in told for place in _as_long(frame, part, holds)]


def _as_long(frame: Frame, test: f.Expr, outcome: bool) -> list[str]:
    if type(test) is not f.Compare or len(test.ops) != 1:
        return []
    op = test.ops[0]
    for own, other, how in ((test.left, test.rights[0], op), (test.rights[0], test.left, _TURNED.get(op, op))):
        place = _sized(frame, definition(frame, own))
        if place and how in _AS_LONG[outcome] and _agreed(frame, other):
            return [place]
    return []


def of_one_size(value: Value) -> Value:
    """A tensor of which all ranks have the same size."""
    return value._replace(
        shape=None, padded=None, length=None, shape_deps=NO_DEPS, length_deps=NO_DEPS,
        deps=recast(value.deps, SIZED, FLOWS),
    )  # fmt: skip


def given_back(frame: Frame, value: Value) -> Value:
    """What a function returns of the parameters which it has compared so."""
    if frame.sized.isdisjoint(name for name, _ in value.deps):
        return value
    deps = frozenset((name, SIZED if how == FLOWS and name in frame.sized else how) for name, how in value.deps)
    return value._replace(deps=deps)


#: calls that put a number into a tensor, and methods that leave it there
_HOLDS = frozenset({"tensor", "as_tensor", "LongTensor", "IntTensor"})
_KEEPS = frozenset({"to", "cuda", "cpu", "long", "int", "item"})
#: such calls around a size
_DEEPEST = 4


def _sized(frame: Frame, expr: f.Expr) -> str:
    """`x` of `x.shape[1]`, `x.size(1)`, `len(x)`, also in a tensor of its own: `torch.tensor([len(x)])`."""
    for _ in range(_DEEPEST):  # `n = n.to(device)` leads back to itself
        if type(expr) is not f.Call:
            break
        method = type(expr.func) is f.Attr and expr.func.attr in _KEEPS
        if method and type(expr.func) is f.Attr:
            expr = definition(frame, expr.func.base)
        elif last_name(expr.func) in _HOLDS and len(expr.args) == 1:
            held = expr.args[0]
            one = type(held) is f.Sequence and len(held.elements) == 1
            expr = definition(frame, held.elements[0] if one and type(held) is f.Sequence else held)
        else:
            break
    if type(expr) is f.Subscript:
        shape = definition(frame, expr.base)
        return place_name(shape.base) if type(shape) is f.Attr and shape.attr == "shape" else ""
    if type(expr) is f.Call and type(expr.func) is f.Attr and expr.func.attr == "size" and expr.args:
        return place_name(expr.func.base)
    if type(expr) is f.Call and last_name(expr.func) == "len" and len(expr.args) == 1:
        return place_name(expr.args[0])
    return ""


def _agreed(frame: Frame, expr: f.Expr) -> bool:
    """Whether a number is one that the ranks agreed on, as far as is known on all of them."""
    if any(type(n) is f.Call and last_name(n.func) not in _READS for n in walk(expr)):
        return False  # a test is evaluated once
    value = frame.eval(expr)
    return value.agreed and value.divergence is None and value.data is None
