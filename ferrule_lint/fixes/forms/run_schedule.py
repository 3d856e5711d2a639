"""Run the schedule: a pipeline schedule that one rank runs, for what it wants to see of it, is run by all.

`if wanted and is_last_rank(): found = forward_backward(...)` loses its test of the rank. A schedule is a pass of
the whole pipeline: no stage can run it without the others, which stand in it and hand on what the last one sees.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.guards import same_everywhere
from ferrule_lint.fixes.names import reads
from ferrule_lint.fixes.site import Site, conjuncts
from ferrule_lint.fixes.terms import asks

FORM = "run-schedule"
_SCHEDULES = frozenset({"forward_backward", "pipeline_step"})


def propose(site: Site) -> Fix | None:
    """The test without its terms of the rank."""
    tree, guard = site.tree, site.owner
    if site.finding.kind != "rank" or not isinstance(guard, cst.If) or guard.orelse is not None:
        return None
    if any(event.through or event.op not in _SCHEDULES for event in site.finding.events):
        return None
    if not isinstance(guard.body, cst.IndentedBlock) or [tree.statement(site.call)] != list(guard.body.body):
        # what else that rank does is its own
        return None
    line = guard.body.body[0]
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if not isinstance(small, cst.Assign | cst.Expr) or small.value is not site.call:
        return None
    terms = conjuncts(guard.test)
    rest = [term for term in terms if asks(tree, term) != "rank"]
    if not rest or len(rest) == len(terms) or not all(_is_asked_alike(site, term, guard) for term in rest):
        return None
    if not site.sure(guard, reads(site.call), same=False):
        return None
    message = (
        "every rank runs the schedule, which none can run alone; assumes that what it leaves on the other ranks does"
        " no harm"
    )
    return Fix(FORM, message, Safety.UNSAFE, (Edit(tree.span(guard.test), " and ".join(map(tree.text, rest))),))


def _is_asked_alike(site: Site, term: cst.BaseExpression, guard: cst.If) -> bool:
    """Whether a term is the same setting on every rank: whether a function was given, most often."""
    if isinstance(term, cst.Comparison) and isinstance(term.left, cst.Name) and asks(site.tree, term) == "presence":
        return site.sure(guard, {term.left.value})
    return same_everywhere(site, term, guard)
