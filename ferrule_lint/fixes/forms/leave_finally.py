"""Leave the finally: a collective at its end comes behind the `try`, so that no rank with an exception waits in it.

The exception then ends the job at once, instead of with the timeout of the others. What else the `finally` does stays.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.blocks import whole_lines
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.guards import only_meets
from ferrule_lint.fixes.names import below
from ferrule_lint.fixes.site import Site
from ferrule_lint.fixes.tree import Tree

FORM = "leave-finally"


def propose(site: Site) -> Fix | None:
    """The statement with the collective, below the `try`; without a `try` if nothing else was for it."""
    tree, line = site.tree, site.tree.statement(site.call)
    final = tree.nearest(site.call, cst.Finally)
    around = None if final is None else tree.parent(final)
    if site.finding.code != "FER105" or final is None or not isinstance(around, cst.Try):
        return None
    if line is None or line not in final.body.body or line is not final.body.body[-1]:
        return None
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or not isinstance(line.body[0], cst.Expr):
        return None
    if not site.event_calls() and not only_meets(site):
        # cleaning up is wanted after an exception above all
        return None
    if _leaves(around):
        # it would not come to what stands behind it
        return None
    indent, end = tree.indent(around), tree.span(line).end_line
    moved = whole_lines(tree, line)
    inner = tree.indent(line)
    text = "".join(indent + tree.source.line(n).removeprefix(inner) + "\n" for n in range(moved.line, moved.end_line))
    alone = len(final.body.body) == 1
    if not alone:
        edits = [Edit(moved, ""), insertion(end + 1, text)]
    elif around.handlers:
        edits = [Edit(Span(tree.span(final).line, 1, end + 1, 1), text)]
    else:
        body = _dedented(tree, around)
        if body is None:
            return None
        edits = [Edit(Span(tree.span(around).line, 1, end + 1, 1), body + text)]
    message = (
        "the collective comes behind the `try`, and not after an exception; assumes that nothing depends on its having"
        " been issued then"
    )
    return Fix(FORM, message, Safety.UNSAFE, in_order(edits))


def _leaves(around: cst.Try) -> bool:
    """Whether some way through the `try` leaves the function or the loop without an exception."""
    parts = [around.body, *(handler.body for handler in around.handlers)]
    return any(isinstance(one, cst.Return | cst.Continue | cst.Break) for part in parts for one in below(part))


def _dedented(tree: Tree, around: cst.Try) -> str | None:
    """The body of a `try` without it; None if that would lose a comment or change a string."""
    body = around.body
    assert around.finalbody is not None
    first, last = tree.span(around).line, tree.span(around.finalbody).line
    if "#" in tree.source.line(first) or "#" in tree.source.line(last) or not isinstance(body, cst.IndentedBlock):
        return None
    step = tree.indent(body.body[0]).removeprefix(tree.indent(around))
    for one in tree.walk(body):
        if isinstance(one, cst.SimpleString | cst.FormattedString) and tree.span(one).line != tree.span(one).end_line:
            return None
    inner = tree.indent(body.body[0])
    lines = [tree.source.line(number) for number in range(first + 1, last)]
    if any(line.strip() and not line.startswith(inner) for line in lines):
        return None
    return "".join(line.removeprefix(step) + "\n" if line.strip() else "\n" for line in lines)
