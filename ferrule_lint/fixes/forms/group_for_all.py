"""Group for all: `new_group` is called by every rank above the test of membership, and used below it as before."""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.blocks import long_string
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.names import below, binds, fresh, reads
from ferrule_lint.fixes.site import Site, callee
from ferrule_lint.fixes.tree import Tree

FORM = "group-for-all"


def propose(site: Site) -> Fix | None:
    """The groups of both arms, created above the `if`."""
    tree, guard = site.tree, site.owner
    if site.finding.kind != "rank" or not isinstance(guard, cst.If) or isinstance(tree.parent(guard), cst.If):
        return None
    if any(isinstance(one, cst.NamedExpr | cst.Await) for one in tree.walk(guard.test)):
        return None
    calls = [
        one
        for one in below(guard)
        if isinstance(one, cst.Call) and callee(one) == "new_group" and site.library(one) is not None
    ]
    if site.call not in calls or not all(_in_arm(tree, call, guard) and call.args for call in calls):
        return None
    inside = binds(guard)
    if any(reads(call) & inside or not site.sure(guard, reads(call)) for call in calls):
        return None
    taken = set(site.module.taken)
    indent, lines, edits = tree.indent(guard), "", list[Edit]()
    for call in calls:
        name = fresh("members" if len(calls) == 1 else "these_members" if call is calls[0] else "other_members", taken)
        taken.add(name)
        text = _at(tree, call, indent)
        if not text:
            return None
        lines += f"{indent}{name} = {text}\n"
        edits.append(Edit(tree.span(call), name))
    edits.append(insertion(tree.first_line(guard), lines))
    message = "every rank creates every group, and keeps its own; assumes that all ranks of the job come here"
    return Fix(FORM, message, Safety.UNSAFE, in_order(edits))


def _at(tree: Tree, call: cst.Call, indent: str) -> str:
    """The text of a call that goes on over lines, as it reads behind `indent`; "" if its lines cannot be moved."""
    line = tree.statement(call)
    deep = "" if line is None else tree.indent(line)
    first, *rest = tree.text(call).split("\n")
    if rest and (long_string(tree, call) or any(one.strip() and not one.startswith(deep) for one in rest)):
        return ""
    return "\n".join([first, *(f"{indent}{one.removeprefix(deep)}" if one.strip() else "" for one in rest)])


def _in_arm(tree: Tree, call: cst.Call, guard: cst.If) -> bool:
    """Whether a call is made once whenever its arm is taken."""
    line = tree.statement(call)
    block = None if line is None else tree.parent(line)
    arm = None if block is None else tree.parent(block)
    between = [one for one in tree.around(call) if isinstance(one, cst.Lambda | cst.CompFor | cst.BaseComp | cst.IfExp)]
    return (arm is guard or arm is guard.orelse) and not between
