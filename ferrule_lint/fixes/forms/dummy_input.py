"""Dummy input: a rank without an optional input runs the module on zeros, and adds the result with the weight zero.

So its parameters are gathered on every rank, and have a backward there. Only for modules whose input follows from the
module itself (linear layers, embeddings, convolutions), and branches that do nothing but add to a tensor.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Fix, Safety
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.names import below, fresh, reads
from ferrule_lint.fixes.site import Site, callee, conjuncts
from ferrule_lint.fixes.terms import asks

FORM = "dummy-input"
#: longer lines are broken
_WIDE = 90
#: class of torch.nn -> the size of the least input that an instance `m` takes
_SIZES = {
    "Linear": "1, {m}.in_features",
    "Embedding": "1",
    "Conv1d": "1, {m}.in_channels, *{m}.kernel_size",
    "Conv2d": "1, {m}.in_channels, *{m}.kernel_size",
    "Conv3d": "1, {m}.in_channels, *{m}.kernel_size",
}


def propose(site: Site) -> Fix | None:
    """An `else` that calls the module for nothing."""
    tree, owner, call = site.tree, site.owner, site.call
    torch = site.module.spelled("torch")
    if site.finding.kind != "structure" or not isinstance(owner, cst.If) or owner.orelse is not None or torch is None:
        return None
    if isinstance(tree.parent(owner), cst.If) or len(site.finding.events) != 1 or site.finding.events[0].through:
        return None
    if site.finding.events[0].op != "forward" or len(call.args) != 1 or call.args[0].star or call.args[0].keyword:
        return None
    if any(asks(tree, term) != "presence" for term in conjuncts(owner.test)):
        return None
    total, kind = _total(site, owner, call), _kind(site, call)
    if total is None or kind is None or not site.sure(owner, {total, *reads(call.func)}, same=False):
        return None
    module = tree.text(call.func)
    what = f"dtype={torch}.long" if kind == "Embedding" else f"dtype={module}.weight.dtype"
    size = f"{_SIZES[kind].format(m=module)}, {what}, device={total}.device"
    indent, inner = tree.indent(owner), tree.indent(owner.body.body[0])
    if len(inner) + len(size) > _WIDE:
        size = f"\n{inner}{inner.removeprefix(indent)}{size}\n{inner}"
    name = fresh("stand_in", site.module.taken)
    text = (
        f"{indent}else:\n{inner}{name} = {torch}.zeros({size})\n"
        f"{inner}{total} = {total} + 0.0 * {module}({name}).sum()\n"
    )
    edit = insertion(tree.span(owner.body.body[-1]).end_line + 1, text)
    message = (
        f"ranks without the input run `{module}` on zeros, and add the result with the weight zero; assumes that every"
        " rank comes here"
    )
    return Fix(FORM, message, Safety.UNSAFE, in_order([edit]))


def _total(site: Site, owner: cst.If, call: cst.Call) -> str | None:
    """The tensor that the branch adds to, if that is all it does: `total = total + module(x)`."""
    statement = owner.body.body[0] if len(owner.body.body) == 1 else None
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1 else None
    if isinstance(small, cst.AugAssign):
        adds = isinstance(small.operator, cst.AddAssign) and isinstance(small.target, cst.Name)
        return small.target.value if adds and isinstance(small.target, cst.Name) else None
    if not isinstance(small, cst.Assign) or len(small.targets) != 1 or not isinstance(small.value, cst.BinaryOperation):
        return None
    target, value = small.targets[0].target, small.value
    if not isinstance(target, cst.Name) or not isinstance(value.operator, cst.Add):
        return None
    sides = [side for side in (value.left, value.right) if isinstance(side, cst.Name) and side.value == target.value]
    return target.value if len(sides) == 1 else None


def _kind(site: Site, call: cst.Call) -> str | None:
    """The class of the submodule that is called, if the class around says so, once, and it is one of torch's."""
    func, around = call.func, site.tree.nearest(site.function, cst.ClassDef)
    if not isinstance(func, cst.Attribute) or site.tree.text(func.value) != "self" or around is None:
        return None
    made = [
        node.value
        for node in below(around, functions=True)
        if isinstance(node, cst.Assign)
        and any(site.tree.text(one.target) == site.tree.text(func) for one in node.targets)
    ]
    if len(made) != 1 or not isinstance(made[0], cst.Call) or callee(made[0]) not in _SIZES:
        return None
    names = {f"{prefix}.{callee(made[0])}" for prefix in (site.module.spelled("torch.nn"), "torch.nn") if prefix}
    return callee(made[0]) if site.tree.text(made[0].func) in names else None
