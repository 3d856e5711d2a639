"""Contribute nothing: a rank without an optional list takes part in gathering the lists, with an empty one.

`if images is not None and log: seen.extend(gather_object(images))` loses the test of what is gathered, which becomes
`images if images is not None else []`. Only for gathers that join the lists of all ranks, whose result is appended.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.blocks import comment_of, indented, lines_of, spans_lines
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.names import reads
from ferrule_lint.fixes.site import Site, callee, conjuncts
from ferrule_lint.fixes.tests import asks

FORM = "contribute-nothing"
#: join the lists that they are given
_JOINS = frozenset({"gather_object"})


def propose(site: Site) -> Fix | None:
    """The gather for every rank, under the other terms of its test."""
    tree, guard, call = site.tree, site.owner, site.call
    if not isinstance(guard, cst.If) or guard.orelse is not None or isinstance(tree.parent(guard), cst.If):
        return None
    if callee(call) not in _JOINS or len(call.args) != 1 or call.args[0].keyword is not None or call.args[0].star:
        return None
    line, value = tree.statement(call), tree.text(call.args[0].value)
    if not isinstance(guard.body, cst.IndentedBlock) or list(guard.body.body) != [line] or not _appends(line, call):
        return None
    terms = conjuncts(guard.test)
    own = [term for term in terms if tree.text(term) in (f"{value} is not None", value)]
    rest = [term for term in terms if term not in own]
    if len(own) != 1 or any(asks(tree, term) != "truth" for term in rest) or line is None:
        return None
    if not site.sure(guard, reads(call), same=False):
        return None
    given = f"{value} or []" if tree.text(own[0]) == value else f"{value} if {tree.text(own[0])} else []"
    edits = [Edit(tree.span(call.args[0].value), given)]
    if rest:
        edits.append(Edit(tree.span(guard.test), " and ".join(map(tree.text, rest))))
    else:
        if spans_lines(tree, guard) or comment_of(tree, guard) or _above(site, guard, line):
            return None
        text = "\n".join(lines_of(tree, line)).replace(tree.text(call), f"{tree.text(call.func)}({given})")
        edits = [
            Edit(Span(tree.span(guard).line, 1, tree.span(line).end_line + 1, 1), indented(text, tree.indent(guard)))
        ]
    message = f"ranks without `{value}` take part with an empty list; assumes that every rank comes here"
    return Fix(FORM, message, Safety.UNSAFE, in_order(edits))


def _appends(line: cst.BaseStatement | None, call: cst.Call) -> bool:
    """Whether a statement does nothing but append what is gathered: nothing more if that is nothing."""
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    if isinstance(small, cst.AugAssign):
        return isinstance(small.operator, cst.AddAssign) and small.value is call
    if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call):
        outer = small.value
        return callee(outer) == "extend" and len(outer.args) == 1 and outer.args[0].value is call
    return False


def _above(site: Site, guard: cst.If, line: cst.BaseStatement) -> bool:
    """Whether something stands between the test and the statement, such as a comment apart."""
    return site.tree.first_line(line) != site.tree.span(guard).line + 1
