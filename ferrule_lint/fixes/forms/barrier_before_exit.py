"""Barrier before the exit: ranks that leave early pass the barriers first in which the others will wait for them.

Each `return` under the test gets a copy of the barriers below it, each `continue` of those below it in its loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from ferrule_lint.findings import Fix, Safety
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.guards import is_barrier, same_everywhere
from ferrule_lint.fixes.names import below, binds, local_names, reads
from ferrule_lint.fixes.site import Site, conjuncts
from ferrule_lint.fixes.tree import Tree

FORM = "barrier-before-exit"
#: with more exits than that there is more to repair than a barrier
_MOST_EXITS = 4
_LOOPS = cst.For | cst.While


def propose(site: Site) -> Fix | None:
    """A copy of each barrier above each exit."""
    tree, owner = site.tree, site.owner
    if not isinstance(owner, cst.If) or any(event.through for event in site.finding.events):
        return None
    exits, block = _exits(site, owner)
    calls = sorted(site.event_calls(), key=lambda call: tree.span(call).line)
    if block is not site.function.body and block is not None:
        # what stands above in the loop is for the next round, which all ranks come to
        inside = range(tree.span(block.body[0]).line, tree.span(owner).line)
        calls = [call for call in calls if tree.span(call).line not in inside]
    lines = [_line(site, owner, call, block) for call in calls] if block is not None else []
    if not lines or not exits or len(exits) > _MOST_EXITS:
        return None
    edits = []
    for leave in exits:
        indent = tree.indent(leave)
        text = "".join(f"{indent}{one}\n" for line in lines for one in line)
        if not all(lines) or leave not in list(tree.block(leave)):
            return None
        edits.append(insertion(tree.first_line(leave), text))
    return Fix(FORM, "ranks that leave pass the barrier first", Safety.SAFE, in_order(edits))


def _exits(site: Site, owner: cst.If) -> tuple[list[cst.BaseStatement], cst.BaseSuite | None]:
    """The statements by which ranks leave under the test, and the block that they leave; none if some leave further."""
    tree = site.tree
    found = [one for one in below(owner.body) if isinstance(one, cst.Return | cst.Break | cst.Continue)]
    loop = next((one for one in tree.around(owner) if isinstance(one, _LOOPS | cst.FunctionDef)), None)
    leaving = [
        one for one in found if isinstance(one, cst.Return) or _loop(tree, one) is loop
    ]  # what ends a loop within the arm goes on in it
    kinds = {type(one) for one in leaving}
    statements = [line for one in leaving if (line := tree.statement(one)) is not None]
    if any(isinstance(one, cst.Try) and one.finalbody for line in statements for one in tree.around(line)):
        return [], None
    if any(not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 for line in statements):
        return [], None
    if kinds == {cst.Return}:
        return statements, site.function.body
    if kinds == {cst.Continue} and isinstance(loop, _LOOPS):
        return statements, loop.body
    return [], None


def _loop(tree: Tree, node: cst.CSTNode) -> cst.CSTNode | None:
    return next((one for one in tree.around(node) if isinstance(one, _LOOPS)), None)


def _line(site: Site, owner: cst.If, call: cst.Call, block: cst.BaseSuite) -> Sequence[str]:
    """A barrier as lines, with the test around it, if all ranks that stay come to it; none if that is not certain."""
    tree = site.tree
    line = tree.statement(call)
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if line is None or not is_barrier(call) or not isinstance(small, cst.Expr) or small.value is not call:
        return []
    if tree.span(call).line < tree.span(owner).end_line or "\n" in tree.text(call):
        return []
    names, lines = reads(call), [tree.text(call)]
    if tree.parent(line) is not block:
        # under a test that all ranks can ask, with nothing else
        around = tree.parent(line)
        test = None if around is None else tree.parent(around)
        if (
            not isinstance(test, cst.If)
            or test.orelse is not None
            or len(test.body.body) != 1
            or around is not test.body
        ):
            return []
        if tree.parent(test) is not block or "\n" in tree.text(test.test):
            return []
        if not all(same_everywhere(site, term, owner) for term in conjuncts(test.test)):
            return []
        names |= reads(test.test)
        step = tree.indent(line).removeprefix(tree.indent(test))
        lines = [f"if {tree.text(test.test)}:", f"{step}{tree.text(call)}"]
    changed = [one for one in below(block) if tree.span(one).line > tree.span(owner).end_line]
    later = set().union(*(binds(one) for one in changed if isinstance(one, cst.AssignTarget | cst.AugAssign | cst.For)))
    return lines if site.sure(owner, names) and not later & names & local_names(site.function) else []
