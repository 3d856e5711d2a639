"""Order: `sorted(...)` around what has no order that ranks share.

Names of files can be sorted for certain. Of what a set or dict holds it is assumed, unless the set is one of names
written out: what cannot be compared raises an error, on one process too.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.names import local_names
from ferrule_lint.fixes.site import Site, callee

FORM = "sort-items"
_FILES = frozenset({"glob", "iglob", "listdir", "iterdir", "rglob"})
#: hand their argument on, item by item
_AROUND = frozenset({"enumerate", "tqdm", "list", "tuple", "iter"})
_SETS = frozenset({"set", "frozenset", "union", "intersection", "difference", "symmetric_difference", "keys", "items"})


def propose(site: Site) -> Fix | None:
    """What is walked, sorted."""
    owner = site.owner
    if site.finding.kind != "host" or not isinstance(owner, cst.For | cst.CompFor) or owner.asynchronous is not None:
        return None
    if site.finding.confidence.label == "low" or "sorted" in local_names(site.function):
        return None
    items = _items(owner.iter)
    if items is None:
        return None
    certain = _certain(items)
    message = "the items are walked in the order of their values, the same on every rank"
    if not certain:
        message += "; assumes that they can be compared with each other"
    wrap = Edit(site.tree.span(items), f"sorted({site.tree.text(items)})")
    return Fix(FORM, message, Safety.SAFE if certain else Safety.UNSAFE, (wrap,))


def _items(walked: cst.BaseExpression) -> cst.BaseExpression | None:
    """The part of what is walked that has no order; None if sorting that would not do, or not mean the same."""
    while isinstance(walked, cst.Call) and isinstance(walked.func, cst.Name) and walked.func.value in _AROUND:
        if not walked.args or walked.args[0].star or walked.args[0].keyword is not None:
            return None
        walked = walked.args[0].value
    if isinstance(walked, cst.Name | cst.Attribute | cst.Set | cst.SetComp):
        return walked
    if isinstance(walked, cst.BinaryOperation):
        return walked if isinstance(walked.operator, cst.Subtract | cst.BitOr | cst.BitAnd | cst.BitXor) else None
    if isinstance(walked, cst.Call) and callee(walked) in _FILES | _SETS:
        return walked
    return None


def _certain(items: cst.BaseExpression) -> bool:
    if isinstance(items, cst.Call):
        return callee(items) in _FILES
    return isinstance(items, cst.Set) and all(
        isinstance(one, cst.Element) and isinstance(one.value, cst.SimpleString) for one in items.elements
    )
