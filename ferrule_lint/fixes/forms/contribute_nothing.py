"""Contribute nothing: a rank without an optional list takes part in gathering the lists, with an empty one.

`if images is not None and log: seen.extend(gather_object(images))` loses the test of what is gathered, which becomes
`images if images is not None else []`. Only for gathers that join the lists of all ranks, whose result is appended.

`has = images is not None; if has: found = gather_object(images)` next to the gather of another list, whose items they
belong to, has the ranks agree on whether any has some; the others contribute `None` for each item of the other list.
Only where whoever reads `found` asks each of them whether it is there.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.agreeing import agreeing
from ferrule_lint.fixes.blocks import comment_of, indented, lines_of, spans_lines
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.flags import flags_of
from ferrule_lint.fixes.names import below, is_label, reads
from ferrule_lint.fixes.site import Site, callee, conjuncts
from ferrule_lint.fixes.terms import asks

FORM = "contribute-nothing"
#: join the lists that they are given
_JOINS = frozenset({"gather_object"})


def propose(site: Site) -> Fix | None:
    """The gather for every rank, under the other terms of its test."""
    tree, guard, call = site.tree, site.owner, site.call
    if isinstance(guard, cst.If) and isinstance(guard.test, cst.Name):
        return _in_step_with(site, guard, guard.test.value)
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


def _in_step_with(site: Site, guard: cst.If, flag: str) -> Fix | None:
    """The lists of the ranks that have one, under a flag on which all agree; None for each item of the others."""
    tree, call = site.tree, site.call
    has = flags_of(tree, site.function).get(flag)
    value = call.args[0].value if len(call.args) == 1 and call.args[0].keyword is None else None
    if has is None or not isinstance(value, cst.Name) or callee(call) not in _JOINS or guard.orelse is not None:
        return None
    line = tree.statement(call)
    assigned = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    found = assigned.targets[0].target if isinstance(assigned, cst.Assign) and len(assigned.targets) == 1 else None
    if not isinstance(found, cst.Name) or list(guard.body.body) != [line] or assigned is None:
        return None
    if tree.text(has.value) != f"{value.value} is not None" or isinstance(tree.parent(guard), cst.If):
        return None
    others = _gathered_above(site, guard)
    mentions = _mentions(site, value.value)
    if others is None or len(mentions) != 2 or not _asked_of_each(site, found.value):
        # what else is done with the list needs it to be there
        return None
    group = site.group(has.statement)
    helper = None if group is None else agreeing(site, "MAX", group)
    if group is None or helper is None:
        return None
    name, edits = helper
    nothing = f"[None] * len({others})"
    own = [
        Edit(tree.span(has.value), f"{name}({tree.text(has.value)}{group.text})"),
        Edit(tree.span(value), f"{value.value} if {value.value} is not None else {nothing}"),
    ]
    message = (
        f"ranks without `{value.value}` take part as soon as one rank has some, with None for each of `{others}`;"
        " assumes that every rank comes here"
    )
    return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, *own)))


def _mentions(site: Site, name: str) -> list[cst.Name]:
    """Where the function's body mentions a variable."""
    names = (one for one in below(site.function.body, functions=True) if isinstance(one, cst.Name))
    return [one for one in names if one.value == name and not is_label(site.tree, one)]


def _gathered_above(site: Site, guard: cst.If) -> str | None:
    """The list that the statement right above gathers, on all ranks."""
    above = site.tree.before(guard)
    line = above[-1] if above else None
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    call = small.value if isinstance(small, cst.Assign) else None
    if isinstance(call, cst.Call) and callee(call) in _JOINS and len(call.args) == 1:
        return call.args[0].value.value if isinstance(call.args[0].value, cst.Name) else None
    return None


def _asked_of_each(site: Site, found: str) -> bool:
    """Whether all that is done with what was gathered asks of each item whether it is there."""
    tree = site.tree
    reading = [one for one in _mentions(site, found) if not isinstance(tree.parent(one), cst.AssignTarget)]
    for one in reading:
        loop = tree.parent(one)
        around = None if loop is None else tree.parent(loop)
        if not isinstance(loop, cst.CompFor) or loop.iter is not one or not isinstance(loop.target, cst.Name):
            return False
        if around is None or f"{loop.target.value} is not None" not in tree.text(around):
            return False
    return bool(reading)
