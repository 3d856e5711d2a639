"""End together: an iterator over the rank's own batches, the end of which leaves a loop, ends on all ranks at once.

`batches = make_batches(loader)` in front of a loop whose step draws from it, which `except NoMoreData: break` leaves,
is walked through a generator that asks all ranks, for each batch, whether every one of them has got one.
"""

from __future__ import annotations

import builtins

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.helpers import END_TOGETHER
from ferrule_lint.fixes.names import below, binds
from ferrule_lint.fixes.site import Site

FORM = "end-together"


def propose(site: Site) -> Fix | None:
    """The assignment above the loop, with what it assigns in the helper."""
    attempt = site.tree.nearest(site.call, cst.Try)
    loop = None if attempt is None else site.tree.nearest(attempt, cst.For | cst.While)  # type: ignore[arg-type]
    error = None if attempt is None or loop is None else _ends(site, attempt)
    made = None if error is None or loop is None else _drawn_from(site, loop)
    if error is None or made is None or not set().union(*(set(one.axes) for one in site.finding.events)) - {"private"}:
        return None
    helper = site.module.helper("_end_together", END_TOGETHER)
    if helper is None:
        return None
    name, edits = helper
    wrap = Edit(site.tree.span(made), f"{name}({site.tree.text(made)}, {error})")
    message = (
        "the data ends for all ranks when that of one does, told by a small all-reduce for each batch; assumes that all"
        " ranks of the job draw as many batches, and that the others can do without what they have left"
    )
    return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, wrap)))


def _ends(site: Site, attempt: cst.Try) -> str | None:
    """The name of the exception for which the only handler leaves the loop, if it is no exception of Python's own."""
    if len(attempt.handlers) != 1 or attempt.finalbody is not None or attempt.orelse is not None:
        return None
    kind, block = attempt.handlers[0].type, attempt.handlers[0].body
    if not isinstance(kind, cst.Name) or hasattr(builtins, kind.value) or not isinstance(block, cst.IndentedBlock):
        return None
    last = block.body[-1]
    leaves = isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Break)
    return kind.value if leaves else None


def _drawn_from(site: Site, loop: cst.CSTNode) -> cst.Call | None:
    """The call that makes the iterator which the finding's call is given: assigned once, above the loop."""
    given = {arg.value.value for arg in site.call.args if isinstance(arg.value, cst.Name)}
    assigned = cst.Assign | cst.AnnAssign | cst.AugAssign | cst.For | cst.AsName | cst.NamedExpr
    found: list[cst.Call] = []
    for name in sorted(given):
        makers = [
            node
            for node in below(site.function.body)
            if isinstance(node, assigned) and not (isinstance(node, cst.For) and node is loop) and name in binds(node)
        ]
        only = makers[0] if len(makers) == 1 else None
        if isinstance(only, cst.Assign) and len(only.targets) == 1 and isinstance(only.targets[0].target, cst.Name):
            line = site.tree.statement(only)
            above = any(line in site.tree.before(around) for around in (loop, *site.tree.around(loop)))
            if isinstance(only.value, cst.Call) and above:
                found.append(only.value)
    return found[0] if len(found) == 1 else None
