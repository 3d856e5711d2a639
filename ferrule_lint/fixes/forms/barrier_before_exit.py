"""Barrier before the exit: ranks that leave early pass the barriers first in which the others will wait for them.

Each `return` under the test gets a copy of the barriers below it, each `continue` of those below it in its loop.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from ferrule_lint.findings import Fix, Safety
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.guards import is_barrier, same_everywhere
from ferrule_lint.fixes.names import below, binds, local_names, reads
from ferrule_lint.fixes.site import Site, callee, conjuncts
from ferrule_lint.fixes.tree import Tree

FORM = "barrier-before-exit"
#: with more exits than that there is more to repair than a barrier
_MOST_EXITS = 4
_LOOPS = cst.For | cst.While
#: functions that say how the job runs: `is_initialized()`, `self._is_multi_process()`
_OF_THE_JOB = re.compile(
    r"_?(is_available|(is|has|use|using)_(\w+_)?(initiali[sz]ed|distributed|dist|ddp|multi_?(process|gpu|node)(es|s)?|parallel))"
)


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
        text = "".join(f"{indent}{one}".rstrip() + "\n" for line in lines for one in line)
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
    # tests around both, in which no loop comes back, are those of the rank that leaves as well
    looping = any(isinstance(one, _LOOPS) for one in tree.around(owner))
    shared = {block} if looping else {block, *tree.around(owner)}
    top = next((one for one in (line, *tree.around(line)) if tree.parent(one) in shared), None)
    if top is None or not _only_waits(site, top, line, owner):
        return []
    lines = [tree.text(call)] if top is line else _code(tree, top)
    names = reads(top) - set().union(
        *(binds(one) for one in below(top) if isinstance(one, cst.Import | cst.ImportFrom))
    )
    changed = [one for one in below(block) if tree.span(one).line > tree.span(owner).end_line]
    later = set().union(*(binds(one) for one in changed if isinstance(one, cst.AssignTarget | cst.AugAssign | cst.For)))
    return lines if site.sure(owner, names) and not later & names & local_names(site.function) else []


def _only_waits(site: Site, statement: cst.CSTNode, line: cst.BaseStatement, owner: cst.If) -> bool:
    """Whether a statement is a barrier, or tests that all ranks can ask around one: nothing else but imports."""
    if statement is line:
        return True
    if isinstance(statement, cst.SimpleStatementLine):
        return all(isinstance(one, cst.Import | cst.ImportFrom) for one in statement.body)
    if not isinstance(statement, cst.If) or statement.orelse is not None:
        return False
    inside = statement.body.body if isinstance(statement.body, cst.IndentedBlock) else ()
    asked = all(_can_be_asked(site, term, owner) for term in conjuncts(statement.test))
    return asked and bool(inside) and all(_only_waits(site, one, line, owner) for one in inside)


def _can_be_asked(site: Site, term: cst.BaseExpression, owner: cst.If) -> bool:
    if isinstance(term, cst.Call) and not term.args and _OF_THE_JOB.fullmatch(callee(term)):
        return True
    return same_everywhere(site, term, owner)


def _code(tree: Tree, statement: cst.CSTNode) -> list[str]:
    """The lines of a statement without comments and the block's indentation; none where a line may not be cut."""
    span, indent = tree.span(statement), tree.indent(statement)
    lines = [tree.source.line(number) for number in range(span.line, span.end_line + 1)]
    comments = [line.lstrip().startswith("#") for line in lines]
    # a blank line stays below code alone
    code = [
        line.rstrip()
        for at, line in enumerate(lines)
        if not comments[at] and (line.strip() or (lines[at - 1].strip() and not comments[at - 1]))
    ]
    plain = all(line.startswith(indent) and not re.search(r"[#\\]|\"\"\"|'''", line) for line in code if line)
    return [line.removeprefix(indent) for line in code] if plain else []
