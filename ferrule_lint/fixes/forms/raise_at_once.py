"""Raise at once: a handler that raises again does not wait for the other ranks first, which are elsewhere.

`except Exception: log(); barrier(); raise` meets the others in a barrier of theirs, or hangs. Without it the exception
ends the job, as it does anywhere else.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.guards import is_barrier, only_meets
from ferrule_lint.fixes.site import Site

FORM = "raise-at-once"


def propose(site: Site) -> Fix | None:
    """The handler without its barrier."""
    tree, line = site.tree, site.tree.statement(site.call)
    handler = None if line is None else tree.nearest(line, cst.ExceptHandler)
    body = handler.body.body if handler is not None else ()
    if line is None or line not in body or not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    small, last = line.body[0], body[-1]
    ends = isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Raise)
    if not isinstance(small, cst.Expr) or small.value is not site.call or not ends:
        return None
    if not is_barrier(site.call) or not (site.event_calls() or only_meets(site)):
        return None
    first, end = tree.span(line).line, tree.span(line).end_line
    if tree.source.line(first - 1).strip().startswith("#") or "#" in tree.source.line(end):
        return None  # what is said of it would be lost
    message = "the exception ends the job at once; assumes that nothing depends on the others having been waited for"
    return Fix(FORM, message, Safety.UNSAFE, in_order([Edit(Span(first, 1, end + 1, 1), "")]))
