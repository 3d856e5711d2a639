"""Agree on a failure: what a handler decided for one rank is decided for all, before the next collective.

The handler keeps what it does, but for its `continue`, `break` or `return`: in its place it notes the failure, and
behind the `try` all ranks leave if one of them has to. A collective in the `try`, below the call that raises, goes
behind it. Where the handler is for the end of the data (`except StopIteration`), all of it goes behind the `try`: what
is done at the end, all ranks do.
"""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.agreeing import agreeing
from ferrule_lint.fixes.blocks import long_string
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.names import below, fresh, reads
from ferrule_lint.fixes.site import Group, Site, callee
from ferrule_lint.fixes.tree import Tree

FORM = "agree-on-failure"
_EXITS = cst.Continue | cst.Break | cst.Return
_ALL = "all ranks of the job come here"
#: what stays behind on a rank that has not failed itself
_LASTING = frozenset({"backward", "step", "zero_grad", "update", "append", "extend", "add_"})


@dataclass(frozen=True, slots=True)
class _Handled:
    """A `try` with one handler, and the exit that the handler ends with, if it does."""

    statement: cst.Try
    handler: cst.ExceptHandler
    exit: cst.SimpleStatementLine | None


def propose(site: Site) -> Fix | None:
    """The exit of the handler, agreed on."""
    tree = site.tree
    if site.finding.code == "FER103":
        return _end_of_data(site)
    found = _handled(site)
    group = None if found is None else site.group(found.statement)
    helper = None if group is None else agreeing(site, "MAX", group)
    if found is None or group is None or helper is None:
        return None
    inside = [event.line for event in site.finding.events if _holds(tree, found.statement, event.line)]
    flag = fresh("failed", site.module.taken)
    name, edits = helper
    agreed = f"{name}({flag}{group.text})"
    main = _behind(tree, found, flag, agreed) if not inside else _split(site, found, min(inside), flag, agreed)
    return None if main is None else _fix(site, found, group, in_order((*edits, *main)))


def _end_of_data(site: Site) -> Fix | None:
    """What a rank does when its data ends, for all ranks as soon as that of one does."""
    tree = site.tree
    found = _handled(site, "`except StopIteration`")
    group = None if found is None else site.group(found.statement)
    helper = None if group is None else agreeing(site, "MAX", group)
    if found is None or found.exit is None or group is None or helper is None or found.handler.name is not None:
        return None
    if any(_holds(tree, found.statement, event.line) for event in site.finding.events):
        return None
    indent, inner = tree.indent(found.statement), tree.indent(found.exit)
    first, last = tree.span(found.handler.type or found.handler).end_line + 1, tree.span(found.exit).end_line
    body = _lines(tree, first, last, "")
    if any(line.strip() and not line.startswith(inner) for line in body.splitlines()):
        return None
    flag = fresh("ended", site.module.taken)
    name, edits = helper
    own = [
        insertion(tree.first_line(found.statement), f"{indent}{flag} = False\n"),
        Edit(Span(first, 1, last + 1, 1), f"{inner}{flag} = True\n{indent}if {name}({flag}{group.text}):\n{body}"),
    ]
    assumptions = ["the others can do without what they have left", *([] if group.certain else [_ALL])]
    message = f"the data ends for all ranks when that of one does; assumes that {' and that '.join(assumptions)}"
    return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, *own)))


def _handled(site: Site, named: str = "the handler") -> _Handled | None:
    """The handler that the finding speaks of, in words that begin with `named`."""
    tree = site.tree
    lines = [step.line for step in site.finding.witness if step.role == "condition" and step.note.startswith(named)]
    for node in below(site.function.body):
        if isinstance(node, cst.ExceptHandler) and tree.span(node).line in lines:
            around = tree.parent(node)
            if not isinstance(around, cst.Try) or around.finalbody is not None or around.orelse is not None:
                return None
            if len(around.handlers) != 1 or not isinstance(node.body, cst.IndentedBlock) or long_string(tree, around):
                return None
            last = node.body.body[-1]
            leaves = isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], _EXITS)
            exits = [one for one in below(node.body) if isinstance(one, _EXITS)]
            if len(exits) != leaves or (leaves and isinstance(last, cst.SimpleStatementLine) and len(last.body) != 1):
                return None
            value = exits[0].value if exits and isinstance(exits[0], cst.Return) else None
            if value is not None and not site.sure(around, reads(value)):
                return None
            return _Handled(around, node, last if leaves and isinstance(last, cst.SimpleStatementLine) else None)
    return None


def _holds(tree: Tree, node: cst.CSTNode, line: int) -> bool:
    span = tree.span(node)
    return span.line <= line <= span.end_line


def _behind(tree: Tree, found: _Handled, flag: str, agreed: str) -> list[Edit] | None:
    """The collectives come after the `try`: the exit goes there."""
    if found.exit is None:
        return None
    indent, inner = tree.indent(found.statement), tree.indent(found.exit)
    step = inner.removeprefix(tree.indent(found.handler))
    end = tree.span(found.handler.body.body[-1]).end_line
    return [
        insertion(tree.first_line(found.statement), f"{indent}{flag} = False\n"),
        Edit(tree.span(found.exit), f"{flag} = True"),
        insertion(end + 1, f"{indent}if {agreed}:\n{indent}{step}{tree.text(found.exit)}\n"),
    ]


def _split(site: Site, found: _Handled, event: int, flag: str, agreed: str) -> list[Edit] | None:
    """The `try` ends above the statement with the first collective, which needs all ranks to have come so far."""
    tree = site.tree
    indent = tree.indent(found.statement)
    body = found.statement.body
    around = body.body[0] if len(body.body) == 1 and isinstance(body.body[0], cst.With) else None
    block = body if around is None else around.body
    raised = [
        s.line
        for s in site.finding.witness
        if s.role == "call" and " raises " in s.note and s.path == site.finding.path
    ]
    if not isinstance(block, cst.IndentedBlock) or not isinstance(body, cst.IndentedBlock) or not raised:
        return None
    at = next((index for index, one in enumerate(block.body) if _holds(tree, one, event)), 0)
    if at == 0 or not any(_holds(tree, one, line) for one in block.body[:at] for line in raised):
        return None
    if any(_holds(tree, one, line) for one in block.body[at:] for line in raised):
        return None
    deep = tree.indent(body.body[0])
    step = deep.removeprefix(indent)
    heads = tree.span(found.statement).line, tree.span(found.handler).line
    cut = tree.span(block.body[at - 1]).end_line
    end = tree.span(found.handler.body.body[-1]).end_line
    above = _lines(tree, tree.span(body.body[0] if around is None else block.body[0]).line, cut, "")
    if around is not None:
        opening = tree.span(around.items[-1]).end_line
        above = _lines(tree, opening + 1, cut, "")
    else:
        above = _lines(tree, heads[0] + 1, cut, "")
    below_ = _lines(tree, cut + 1, heads[1] - 1, "").lstrip("\n")
    if not step or any(line.strip() and not line.startswith(deep) for line in (above + below_).splitlines()):
        return None
    handler = _lines(tree, heads[1], end, "" if around is None else step)
    if found.exit is not None:
        lines = handler.splitlines(keepends=True)
        place = tree.span(found.exit).line - heads[1]
        lines[place] = lines[place].replace(tree.text(found.exit), f"{flag} = True", 1)
        handler = "".join(lines)
    else:
        handler += f"{tree.indent(found.handler.body.body[0])}{'' if around is None else step}{flag} = True\n"
    head = _lines(tree, heads[0], heads[0], "" if around is None else step)
    leave = "" if found.exit is None else tree.text(found.exit)
    text = f"{indent}{flag} = False\n"
    if around is not None:
        text += _lines(tree, tree.span(around).line, tree.span(around.items[-1]).end_line, "", less=step)
        text += head + above + handler
        if leave:
            text += f"{deep}{flag} = {agreed}\n{deep}if not {flag}:\n{below_}{indent}if {flag}:\n{deep}{leave}\n"
        else:
            text += f"{deep}if not {agreed}:\n{below_}"
    elif leave:
        moved = "".join(line.removeprefix(step) for line in below_.splitlines(keepends=True))
        text += head + above + handler + f"{indent}if {agreed}:\n{deep}{leave}\n" + moved
    else:
        text += head + above + handler + f"{indent}if not {agreed}:\n{below_}"
    return [Edit(Span(heads[0], 1, end + 1, 1), text)]


def _lines(tree: Tree, first: int, last: int, more: str, less: str = "") -> str:
    """Lines of the file, indented by `more`, or by `less` not so far."""
    lines = [tree.source.line(number).removeprefix(less) for number in range(first, last + 1)]
    return "".join(f"{more}{line}\n" if line.strip() else "\n" for line in lines)


def _fix(site: Site, found: _Handled, group: Group, edits: tuple[Edit, ...]) -> Fix:
    assumptions = [] if group.certain else [_ALL]
    lasting = sorted({callee(one) for one in below(found.statement.body) if isinstance(one, cst.Call)} & _LASTING)
    inside = any(_holds(site.tree, found.statement, event.line) for event in site.finding.events)
    message = "what one rank cannot do is left by all"
    if lasting and not inside:
        message += f"; what `{'`, `'.join(lasting)}` did on the other ranks has to be undone there by hand"
        return Fix(FORM, message, Safety.SHOWN, edits)
    assumptions.append("the other ranks can do without what they have computed")
    if inside:
        assumptions.append("what goes behind the `try` raises nothing that is handled there")
    return Fix(FORM, f"{message}; assumes that {', that '.join(assumptions)}", Safety.UNSAFE, edits)
