"""Barrier before the exit: ranks that leave early pass the barriers first in which the others will wait for them."""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Fix, Safety
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.names import below, reads
from ferrule_lint.fixes.site import Site, callee

FORM = "barrier-before-exit"
_BARRIERS = frozenset({"barrier", "monitored_barrier", "wait_for_everyone"})


def propose(site: Site) -> Fix | None:
    """A copy of each barrier above the `return`."""
    tree, owner = site.tree, site.owner
    if not isinstance(owner, cst.If) or not isinstance(owner.body, cst.IndentedBlock):
        return None
    leave = owner.body.body[-1]
    if not isinstance(leave, cst.SimpleStatementLine) or not isinstance(leave.body[-1], cst.Return):
        return None
    returns = [one for one in below(owner.body) if isinstance(one, cst.Return)]
    calls = sorted(site.event_calls(), key=lambda call: tree.span(call).line)
    if len(returns) != 1 or len(leave.body) != 1 or not calls or any(event.through for event in site.finding.events):
        return None
    for call in calls:
        line = tree.statement(call)
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        # a barrier under a test, or in a loop, need not be one for each rank that goes on
        plain = line is not None and tree.parent(line) is site.function.body
        if callee(call) not in _BARRIERS or not plain or not isinstance(small, cst.Expr) or small.value is not call:
            return None
        if tree.span(call).line < tree.span(owner).end_line or not site.sure(owner, reads(call)):
            return None
    text = "".join(f"{tree.indent(leave)}{tree.text(call)}\n" for call in calls)
    edit = insertion(tree.first_line(leave), text)
    return Fix(FORM, "ranks that leave pass the barrier first", Safety.SAFE, in_order([edit]))
