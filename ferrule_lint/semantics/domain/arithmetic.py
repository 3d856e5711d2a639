"""What is left of a difference of two expressions: `(i + 1) * n - i * n` is `n`; how two numbers compare."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.text import render

#: a sum of products: the factors of each, as text and sorted, with how often it is added
_Sum = Counter[tuple[str, ...]]
_MOST_PRODUCTS = 64

#: how two numbers compare, by the operator as it is written
ORDERS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def remainder(left: f.Expr, right: f.Expr) -> list[f.Expr] | None:
    """The factors that are left in `left - right` once what is in both has gone; None: too much to multiply out."""
    factors: dict[str, f.Expr] = {}
    total = _sum(left, factors)
    minus = _sum(right, factors)
    if total is None or minus is None:
        return None
    total.subtract(minus)
    names = dict.fromkeys(name for product, times in total.items() if times for name in product)
    return [factors[name] for name in names]


def _sum(expr: f.Expr, factors: dict[str, f.Expr]) -> _Sum | None:
    if type(expr) is f.Const and expr.text.isdigit():
        return Counter({(): int(expr.text)})
    if type(expr) is not f.Op or expr.kind not in ("Add", "Sub", "Mult", "USub"):
        text = render(expr)
        factors[text] = expr
        return Counter({(text,): 1})
    parts = [_sum(o, factors) for o in expr.operands]
    total: _Sum = Counter({(): 1}) if expr.kind == "Mult" else Counter()
    for i, part in enumerate(parts):
        if part is None:
            return None
        if expr.kind == "Mult":
            total = _product(total, part)
        elif expr.kind == "USub" or (expr.kind == "Sub" and i):
            total.subtract(part)
        else:
            total.update(part)
        if len(total) > _MOST_PRODUCTS:
            return None
    return total


def _product(a: _Sum, b: _Sum) -> _Sum:
    result: _Sum = Counter()
    for x, times in a.items():
        for y, more in b.items():
            result[tuple(sorted((*x, *y)))] += times * more
    return result


def factors(expr: f.Expr) -> Iterator[f.Expr]:
    """What a product is made of; anything else is its own only factor."""
    if type(expr) is f.Op and expr.kind == "Mult":
        for operand in expr.operands:
            yield from factors(operand)
    else:
        yield expr
