"""Leave together: when the first rank ends a loop by what it alone has asked, all ranks end it.

The `break` becomes a flag, which is reduced behind the test of the rank: `if rank == 0: ...; if enough: break` lets the
others know. What the rank would have left out in its arm stays left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.agreeing import agreeing
from ferrule_lint.fixes.blocks import deepened, long_string
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.movable import one_rank
from ferrule_lint.fixes.names import below, fresh
from ferrule_lint.fixes.site import Site, conjuncts
from ferrule_lint.fixes.terms import asks
from ferrule_lint.fixes.tree import Tree

FORM = "leave-together"
_LOOPS = cst.For | cst.While


def propose(site: Site) -> Fix | None:
    """The `break` below the test of the rank, for all ranks at once."""
    tree, owner = site.tree, site.owner
    if site.finding.kind != "rank" or not isinstance(owner, cst.If) or isinstance(tree.parent(owner), cst.If):
        return None
    line = _break(site, owner)
    group = None if line is None else site.group(owner)
    if line is None or group is None or owner not in list(tree.block(owner)):
        return None
    flag = fresh("stop", site.module.taken)
    skipped = _skipped(tree, owner, line, flag)
    helper = agreeing(site, "MAX", group)
    if skipped is None or helper is None:
        return None
    name, edits = helper
    indent, inner = tree.indent(owner), tree.indent(owner.body.body[0])
    behind = f"{indent}if {name}({flag}{group.text}):\n{inner}{tree.text(line)}\n"
    own = [
        insertion(tree.first_line(owner), f"{indent}{flag} = False\n"),
        Edit(tree.span(line), f"{flag} = True"),
        insertion(_end(tree, owner) + 1, behind),
    ]
    assumptions = ["the others are done by then", *([] if group.certain else ["all ranks of the job come here"])]
    message = f"all ranks end the loop with the first one; assumes that {' and that '.join(assumptions)}"
    return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, *own, *skipped)))


def _break(site: Site, owner: cst.If) -> cst.SimpleStatementLine | None:
    """The statement by which the first rank ends the loop around the test, if something else decides about it, too."""
    tree = site.tree
    terms = conjuncts(owner.test)
    ranks = [term for term in terms if asks(tree, term) == "rank"]
    if not ranks or not all(one_rank(tree, term) for term in ranks):
        return None
    found = [one for one in below(owner) if isinstance(one, cst.Return | cst.Break | cst.Continue)]
    leaving = [one for one in found if isinstance(one, cst.Return) or _loop(tree, one) is _loop(tree, owner)]
    line = tree.statement(leaving[0]) if len(leaving) == 1 else None
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1 or line not in list(tree.block(line)):
        return None
    if not isinstance(line.body[0], cst.Break) or line not in list(tree.walk(owner.body)):
        return None
    return line if len(ranks) < len(terms) or line not in list(tree.block(owner.body.body[0])) else None


def _loop(tree: Tree, node: cst.CSTNode) -> cst.CSTNode | None:
    return next((one for one in tree.around(node) if isinstance(one, _LOOPS)), None)


def _skipped(tree: Tree, owner: cst.If, line: cst.SimpleStatementLine, flag: str) -> list[Edit] | None:
    """What stands below the exit in the arm, under a test of the flag; None if that cannot be written."""
    edits: list[Edit] = []
    for current in _up_to(tree, line, owner):
        if isinstance(current, cst.If | cst.Else | cst.IndentedBlock | cst.With | cst.SimpleStatementLine):
            rest = list(tree.block(current))
            rest = rest[rest.index(current) + 1 :] if isinstance(current, cst.BaseStatement) and current in rest else []
        else:
            return None  # a loop would go on, a `finally` be passed
        if not rest:
            continue
        first, last = tree.first_line(rest[0]), tree.span(rest[-1]).end_line
        indent = tree.indent(rest[0])
        step = tree.indent(owner.body.body[0]).removeprefix(tree.indent(owner))
        if any(long_string(tree, one) for one in rest) or not step:
            return None
        edits += deepened(tree, first, last, step)
        edits.append(insertion(first, f"{indent}if not {flag}:\n"))
    # insertions at one place are written in the order of their text's depth: the test first
    return _merged(edits)


def _up_to(tree: Tree, node: cst.CSTNode, last: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """`node` and what is around it, below `last`."""
    yield node
    for one in tree.around(node):
        if one is last:
            return
        yield one


def _merged(edits: list[Edit]) -> list[Edit]:
    """One edit a place, with the lines that end in front of the indentation of what stands there."""
    places: dict[tuple[int, int], list[str]] = {}
    for edit in edits:
        places.setdefault((edit.span.line, edit.span.column), []).append(edit.text)
    return [
        insertion(line, "".join(sorted(texts, key=lambda text: not text.endswith("\n"))), column)
        for (line, column), texts in places.items()
    ]


def _end(tree: Tree, owner: cst.If) -> int:
    """The last line of an `if` with all its arms."""
    return tree.span(owner if owner.orelse is None else owner.orelse).end_line
