"""Drop the guard: collectives that are all a divergent branch does run on every rank.

For conditions on the local batch or on a clock, where what is reduced is there in any case: a count that is zero where
there is nothing to count. The condition goes with the branch.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.names import reads
from ferrule_lint.fixes.site import Site, callee
from ferrule_lint.fixes.tree import Tree

FORM = "drop-guard"
_BARRIERS = frozenset({"barrier", "monitored_barrier", "wait_for_everyone"})
_IN_PLACE = frozenset({"all_reduce"})


def propose(site: Site) -> Fix | None:
    """The branch without its `if`."""
    tree, guard = site.tree, site.owner
    if site.finding.kind not in ("data", "host") or not isinstance(guard, cst.If) or guard.orelse is not None:
        return None
    if isinstance(tree.parent(guard), cst.If) or not isinstance(guard.body, cst.IndentedBlock):
        return None
    if any(event.through or event.hidden for event in site.finding.events) or not _is_pure(tree, guard.test):
        return None
    calls = [_call(one) for one in guard.body.body]
    if not all(call is not None and site.sure(guard, reads(call)) for call in calls):
        return None
    ops = {callee(call) for call in calls if call is not None}
    if not ops <= _BARRIERS | _IN_PLACE or _has_comment_between(tree, guard):
        return None
    indent = tree.indent(guard)
    span = tree.span(guard)
    end = tree.span(guard.body.body[-1]).end_line
    inner = tree.indent(guard.body.body[0])
    lines = [tree.source.line(number) for number in range(tree.span(guard.body.body[0]).line, end + 1)]
    if not all(line.startswith(inner) for line in lines if line.strip()):
        return None
    first = tree.span(guard.body.body[0]).line
    comments = [tree.source.line(number) for number in range(span.line + 1, first)]
    text = "".join(indent + line.removeprefix(inner) + "\n" if line.strip() else "\n" for line in (*comments, *lines))
    edit = Edit(Span(span.line, 1, end + 1, 1), text)
    if ops <= _BARRIERS:
        return Fix(FORM, "the barrier is for every rank", Safety.SAFE, (edit,))
    message = "every rank takes part; assumes that what it adds is neutral where its own answer is no"
    return Fix(FORM, message, Safety.UNSAFE, (edit,))


def _call(statement: cst.BaseStatement) -> cst.Call | None:
    """The call that is all of a line."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        small = statement.body[0]
        if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
            return small.value
    return None


def _is_pure(tree: Tree, test: cst.BaseExpression) -> bool:
    """Whether nobody misses the test: it binds and awaits nothing."""
    return not any(isinstance(one, cst.NamedExpr | cst.Await | cst.Yield) for one in tree.walk(test))


def _has_comment_between(tree: Tree, guard: cst.If) -> bool:
    """Whether the line of the `if` has a comment: it speaks of the condition, which goes."""
    span = tree.span(guard.test)
    rest = tree.source.line(span.end_line)[span.end_column - 1 :]
    return span.line != span.end_line or "#" in rest
