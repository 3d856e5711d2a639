"""Divisions below an exit for "there is nothing": by what, once ranks with nothing go on as well.

`if count == 0: return` kept the rank from `total / count`. Where ranks leave only together, `count` is nothing there on
some of them: divided is by one, then. That changes nothing for the others, and is no average of what ranks have
together: such a division is none of this.
"""

from __future__ import annotations

import re

import libcst as cst

from ferrule_lint.findings import Edit
from ferrule_lint.fixes.names import below, binds, local_names, reads
from ferrule_lint.fixes.site import Site, callee

_NOT_ZERO = re.compile(r"\bclamp(_min)?\(|\bmax(imum)?\(|\beps|\b1e-")
_DIVIDES = cst.Divide | cst.DivideAssign | cst.FloorDivide | cst.Modulo
#: bring parameters together, and nothing that the ranks have computed
_OF_PARAMETERS = frozenset({"forward", "gathered_parameters"})
_COUNTS = frozenset({"int", "len", "item", "numel", "size"})


def kept_from_zero(site: Site, owner: cst.If) -> list[Edit] | None:
    """The edits by which nothing below `owner` is divided by what it found to be nothing; None if there are none."""
    local = local_names(site.function)
    names = reads(owner.test) & local
    together = _together(site, local)
    last = site.tree.span(owner).line
    edits: list[Edit] = []
    for one in below(site.function.body):
        if not isinstance(one, cst.BinaryOperation | cst.AugAssign) or site.tree.span(one).line <= last:
            continue
        if not isinstance(one.operator, _DIVIDES):
            continue
        dividend, divisor = (one.left, one.right) if isinstance(one, cst.BinaryOperation) else (one.target, one.value)
        if not reads(divisor) & names:
            continue
        if reads(dividend) & together:
            return None
        if _NOT_ZERO.search(site.tree.text(divisor)):
            continue
        at_least_one = _at_least_one(site, divisor) if isinstance(one.operator, cst.Divide | cst.DivideAssign) else ""
        if not at_least_one:
            return None
        edits.append(Edit(site.tree.span(divisor), at_least_one))
    return edits


def _together(site: Site, local: set[str]) -> set[str]:
    """The names of what the ranks bring together, or may."""
    if {event.op for event in site.finding.events} <= _OF_PARAMETERS:
        return set()
    calls = site.event_calls()
    return set().union(*map(reads, calls)) & local if calls else local


def _at_least_one(site: Site, divisor: cst.BaseExpression) -> str:
    """`divisor`, a name that is assigned a count once, but no less than one; "" if that cannot be said of it."""
    if not isinstance(divisor, cst.Name):
        return ""
    name = divisor.value
    bound = [node for node in below(site.function.body) if isinstance(node, _BINDS) and name in binds(node)]
    only = bound[0] if len(bound) == 1 else None
    if not isinstance(only, cst.Assign) or len(only.targets) != 1 or not isinstance(only.value, cst.Call):
        return ""
    how = callee(only.value)
    if how in _COUNTS:
        return f"max({name}, 1)"
    return f"{name}.clamp(min=1)" if how in ("sum", "count_nonzero") and _is_mask(site, only.value) else ""


_BINDS = cst.Assign | cst.AnnAssign | cst.AugAssign | cst.For | cst.AsName | cst.NamedExpr


def _is_mask(site: Site, call: cst.Call) -> bool:
    """Whether `mask.sum()` counts: of a mask by its name, or of a comparison that is assigned to the name."""
    if callee(call) == "count_nonzero":
        return True
    if not isinstance(call.func, cst.Attribute) or call.args:
        return False
    summed = call.func.value
    if isinstance(summed, cst.Name):
        made = [
            node for node in below(site.function.body) if isinstance(node, cst.Assign) and summed.value in binds(node)
        ]
        if len(made) == 1 and isinstance(made[0].value, cst.Comparison):
            return True
        return re.search(r"(^|_)mask(_|$|s$)", summed.value) is not None
    return isinstance(summed, cst.Comparison)
