"""How much there has to be, by a test of a size: none, any, at least so much, no more than that.

"There is nothing here" is a reason to have nothing to do: who has none can go on with nothing. "Too few" and "too many"
are none of this: the code that the test keeps a rank from cannot do with what that has (`random.sample(data, 32)`, a
batch that is too long for the memory). So a rank that wants out of it may not be made to go on, and one that has not
enough may not be let in: the others have to wait for it.
"""

from __future__ import annotations

from typing import Literal

import libcst as cst

from ferrule_lint.fixes.names import below
from ferrule_lint.fixes.site import callee
from ferrule_lint.fixes.tests import without_bool
from ferrule_lint.fixes.tree import Tree

Amount = Literal["none", "some", "less", "more", "least", "exact", "unlike", ""]

_ORDERS: dict[type[cst.BaseCompOp], Amount] = {
    cst.LessThan: "less",
    cst.LessThanEqual: "less",
    cst.GreaterThan: "more",
    cst.GreaterThanEqual: "least",
    cst.Equal: "exact",
    cst.NotEqual: "unlike",
}
#: the same, seen from the other side of the comparison
_MIRRORED: dict[type[cst.BaseCompOp], type[cst.BaseCompOp]] = {
    cst.LessThan: cst.GreaterThan,
    cst.LessThanEqual: cst.GreaterThanEqual,
    cst.GreaterThan: cst.LessThan,
    cst.GreaterThanEqual: cst.LessThanEqual,
}
#: the contrary
_NEGATED: dict[Amount, Amount] = {
    "none": "some",
    "some": "none",
    "less": "least",
    "more": "less",
    "least": "less",
    "exact": "unlike",
    "unlike": "exact",
}
_SIZES = frozenset({"len", "numel", "nelement", "size"})


def amount(tree: Tree, term: cst.BaseExpression) -> Amount:
    """What a term that asks for a size is true of; "" if that cannot be told."""
    term = without_bool(term)
    if isinstance(term, cst.UnaryOperation) and isinstance(term.operator, cst.Not):
        inner = amount(tree, term.expression)
        return _NEGATED.get(inner, "")
    if not isinstance(term, cst.Comparison):
        return "some"
    if len(term.comparisons) != 1:
        return ""
    operator, limit = type(term.comparisons[0].operator), term.comparisons[0].comparator
    if _is_size(limit):
        if _is_size(term.left):
            return "unlike" if operator is cst.NotEqual else ""
        operator, limit = _MIRRORED.get(operator, operator), term.left
    elif not _is_size(term.left):
        return ""
    number = limit.evaluated_value if isinstance(limit, cst.Integer) else None
    if number == 0:
        zero: dict[type[cst.BaseCompOp], Amount] = {
            cst.Equal: "none", cst.LessThanEqual: "none", cst.GreaterThan: "some", cst.NotEqual: "some"
        }  # fmt: skip
        return zero.get(operator, "")
    if number == 1 and operator in (cst.LessThan, cst.GreaterThanEqual):
        return "none" if operator is cst.LessThan else "some"
    return _ORDERS.get(operator, "")


def limit_of(term: cst.BaseExpression) -> cst.BaseExpression | None:
    """What a size is compared with."""
    if not isinstance(term, cst.Comparison) or len(term.comparisons) != 1:
        return None
    other = term.comparisons[0].comparator
    return term.left if _is_size(other) else other


def _is_size(node: cst.BaseExpression) -> bool:
    """Whether an expression asks how much there is: `len(x)`, `x.numel()`, `x.shape[0]`."""
    return any(
        (isinstance(one, cst.Call) and callee(one) in _SIZES)
        or (isinstance(one, cst.Attribute) and one.attr.value in ("shape", "nbytes"))
        for one in below(node)
    )


def plainly_returned(tree: Tree, body: cst.BaseSuite) -> bool:
    """Whether a block returns nothing, or what is there: a name, a constant, zeros. What it would work out there could
    be another way to the same, of which the ranks can take either."""
    return all(_is_plain(tree, one.value) for one in below(body) if isinstance(one, cst.Return))


def _is_plain(tree: Tree, value: cst.BaseExpression | None) -> bool:
    if value is None or isinstance(value, cst.Name | cst.Attribute | cst.BaseNumber | cst.SimpleString):
        return True
    if isinstance(value, cst.UnaryOperation):
        return _is_plain(tree, value.expression)
    if isinstance(value, cst.Tuple | cst.List):
        return all(_is_plain(tree, one.value) for one in value.elements)
    if isinstance(value, cst.Dict):
        return not value.elements
    return isinstance(value, cst.Call) and callee(value) in ("zeros", "zeros_like", "new_zeros", "empty", "new_empty")
