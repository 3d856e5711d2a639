"""Order: `sorted(...)` around what has no order that ranks share.

Names of files can be sorted for certain. Of what a set or dict holds it is assumed, unless the set is one of names
written out: what cannot be compared raises an error, on one process too. Where the collective is in a function that is
handed the items, the loop that hands them on is the one that is sorted.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.names import below, local_names
from ferrule_lint.fixes.site import Site, callee
from ferrule_lint.fixes.tree import Tree

FORM = "sort-items"
_FILES = frozenset({"glob", "iglob", "listdir", "iterdir", "rglob"})
#: hand their argument on, item by item
_AROUND = frozenset({"enumerate", "tqdm", "list", "tuple", "iter"})
_SETS = frozenset({"set", "frozenset", "union", "intersection", "difference", "symmetric_difference", "keys", "items"})


def propose(site: Site) -> Fix | None:
    """What is walked, sorted."""
    owner = site.owner if isinstance(site.owner, cst.For | cst.CompFor) else _handing_on(site)
    if not (site.finding.kind == "host" or _is_met(site)) or owner is None or owner.asynchronous is not None:
        return None
    if site.finding.confidence.label == "low" or "sorted" in local_names(site.function):
        return None
    items = _items(owner.iter)
    if isinstance(items, cst.Name):
        items = _before_its_order(site, owner, items)
    if items is None:
        return None
    certain = _certain(items)
    message = "the items are walked in the order of their values, the same on every rank"
    if not certain:
        message += "; assumes that they can be compared with each other"
        message += " and that every rank has the same ones" if site.finding.kind == "data" else ""
    wrap = Edit(site.tree.span(items), f"sorted({site.tree.text(items)})")
    return Fix(FORM, message, Safety.SAFE if certain else Safety.UNSAFE, (wrap,))


def _is_met(site: Site) -> bool:
    """Whether a dict gets its keys as each rank meets them; a batch may have others, or more of them."""
    return any(step.note.endswith("in the order in which this rank meets them") for step in site.finding.witness)


def _handing_on(site: Site) -> cst.For | None:
    """The loop of this function that the witness comes by, if it is one: it fills what is passed to the call."""
    tree = site.tree
    here = tree.span(site.function)
    lines = [
        step.line
        for step in site.finding.witness
        if step.role == "flow" and step.path == site.finding.path and here.line <= step.line <= here.end_line
    ]
    loops = [
        node
        for node in below(site.function.body, functions=True)
        if isinstance(node, cst.For) and any(_in_body(tree, node, line) for line in lines)
    ]
    return loops[0] if len(loops) == 1 else None


def _in_body(tree: Tree, loop: cst.For, line: int) -> bool:
    span = tree.span(loop.body)
    return span.line <= line <= span.end_line


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


def _before_its_order(site: Site, owner: cst.For | cst.CompFor, name: cst.Name) -> cst.BaseExpression | None:
    """What goes into `name = sorted(items, key=...)`, whose order the loop may need; else the name.

    None if the name was given another order that is not to be lost.
    """
    tree = site.tree
    made = [
        node
        for node in below(site.function.body)
        if isinstance(node, cst.Assign)
        and any(isinstance(one.target, cst.Name) and one.target.value == name.value for one in node.targets)
        and tree.span(node).line < tree.span(owner.iter).line
    ]
    value = max(made, key=lambda node: tree.span(node).line).value if made else None
    if not isinstance(value, cst.Call) or callee(value) not in ("sorted", "reversed"):
        return name
    first = value.args[0] if value.args else None
    if callee(value) != "sorted" or first is None or first.star or first.keyword is not None:
        return None
    return _items(first.value)


def _certain(items: cst.BaseExpression) -> bool:
    if isinstance(items, cst.Call):
        return callee(items) in _FILES
    return isinstance(items, cst.Set) and all(
        isinstance(one, cst.Element) and isinstance(one.value, cst.SimpleString) for one in items.elements
    )
