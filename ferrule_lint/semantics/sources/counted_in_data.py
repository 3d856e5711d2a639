"""Attributes that count what a rank finds in its own data: `self.hits += (pred == label).sum().item()`.

A metric adds up what its batches hold, in one method, and reduces the sums over all ranks in another. Until it does, a
sum is the rank's own, and so is whether it is zero (`if self.hits == 0: return nan`). How many batches or samples there
were is no such count: of these there are as many on every rank. So what is added has to be read out of the data: a mask
that is summed up, or what a mask has left, of something that the method was given. A method that reduces knows nothing
of subclasses which do the adding; these are looked at, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.text import last_name, place_name, variables
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: names that an expression may be followed over
_DEEPEST = 3
#: what makes a number of a tensor, or brings it elsewhere
_AS_NUMBER = frozenset("item float int cpu cuda detach tolist to long double".split())
_SUMS = frozenset("sum count_nonzero".split())
_SIZES = frozenset("len numel size shape".split())
#: calls whose result is a mask
_MASKS = frozenset("eq ne gt ge lt le isfinite isnan isin logical_and logical_or logical_not bool nonzero".split())
_OF_MASKS = frozenset({"BitAnd", "BitOr", "Invert"})


def place(analysis: Analysis, info: ClassInfo, attribute: str) -> tuple[FunctionInfo, f.Pos] | None:
    """Where a class, or one below it, adds to an attribute what it counts in the data that a method was given."""
    below = [] if analysis.hierarchy.has_many_heirs(info.id) else analysis.hierarchy.below(info)
    for owner in (*analysis.names.mro(info), *below):
        for method in owner.methods.values():
            if method.is_static or len(method.parameters) < 2:
                continue
            own = f"{method.parameters[0].name}.{attribute}"
            for node in statements(method.body):
                if type(node) is not f.AugAssign or type(node.target) is not f.Attr:
                    continue
                if place_name(node.target) == own and _is_count(method, node.value):
                    return method, node.target.pos
    return None


def _is_count(method: FunctionInfo, value: f.Expr) -> bool:
    value = _number(value)
    if type(value) is f.Subscript:  # `x.shape[0]`
        value = value.base
    if type(value) is f.Attr:
        return value.attr == "shape" and _is_chosen(method, value.base, _DEEPEST)
    if type(value) is not f.Call:
        return False
    name = last_name(value.func)
    inner = _operand(value)
    if inner is None:
        return False
    counted = (name in _SUMS and _is_mask(method, inner, _DEEPEST)) or (
        name in _SIZES and _is_chosen(method, inner, _DEEPEST)
    )
    return counted and _is_given(method, inner, _DEEPEST)


def _number(value: f.Expr) -> f.Expr:
    """What a number is made of: `float(x.sum().item())` of `x.sum()`."""
    while type(value) is f.Call and last_name(value.func) in _AS_NUMBER:
        inner = _operand(value)
        if inner is None:
            return value
        value = inner
    return value


def _operand(call: f.Call) -> f.Expr | None:
    """What a call is made on: `x` of `x.sum()`, `torch.sum(x)`, `len(x)`."""
    if type(call.func) is f.Attr and not (type(call.func.base) is f.Name and call.func.base.id in ("torch", "np")):
        return call.func.base
    return call.args[0] if call.args else None


def _is_mask(method: FunctionInfo, expr: f.Expr, depth: int) -> bool:
    """Whether an expression says of each of many things whether something holds of it."""
    expr = _number(expr)
    if type(expr) is f.Name:
        sources = _assigned(method, expr.id)
        return depth > 0 and bool(sources) and all(_is_mask(method, source, depth - 1) for source in sources)
    if type(expr) is f.Op and expr.kind in _OF_MASKS:
        return all(_is_mask(method, operand, depth) for operand in expr.operands)
    if type(expr) is f.Call:
        return last_name(expr.func) in _MASKS
    return type(expr) is f.Compare and len(expr.ops) == 1 and expr.ops[0] in ("==", "!=", "<", "<=", ">", ">=")


def _is_chosen(method: FunctionInfo, expr: f.Expr, depth: int) -> bool:
    """Whether an expression holds what a mask has left: `labels[labels != -1]`."""
    if type(expr) is f.Name:
        sources = _assigned(method, expr.id)
        return depth > 0 and bool(sources) and all(_is_chosen(method, source, depth - 1) for source in sources)
    return type(expr) is f.Subscript and _is_mask(method, expr.index, depth)


def _is_given(method: FunctionInfo, expr: f.Expr, depth: int) -> bool:
    """Whether an expression is made of something that the method was given."""
    given = {p.name for p in method.parameters[1:]}
    names = variables(expr)
    return bool(names & given) or (
        depth > 0 and any(_is_given(method, s, depth - 1) for name in names for s in _assigned(method, name))
    )


def _assigned(method: FunctionInfo, name: str) -> list[f.Expr]:
    """What a method assigns to a name of its own, each by itself."""
    return [
        node.value
        for node in walk(method.body)
        if type(node) is f.Assign and node.value is not None
        if any(type(t) is f.Name and t.id == name for t in node.targets)
    ]
