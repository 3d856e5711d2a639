"""Repeat the last round: ranks that were dealt fewer items than another go on with their last one.

`for i in range(rank, n, size): save(model(items[i]))` turns as often on every rank; one that is through does its last
round again, and throws away, or writes once more, what comes out. Only for loops whose rounds leave nothing that counts
them: no sum, no list, no gradient, and no reduction to which a round would contribute twice.
"""

from __future__ import annotations

import re

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.helpers import LARGEST
from ferrule_lint.fixes.names import below, binds, fresh, parameters, reads
from ferrule_lint.fixes.site import Site, callee, counted_loop

FORM = "repeat-last-round"
#: take nothing from a rank but that it is there: a second time does no harm
_TAKE_NOTHING = frozenset({"forward", "barrier"})
_EXITS = cst.Return | cst.Break | cst.Yield | cst.Await | cst.AugAssign | cst.NamedExpr | cst.Del
_BINDS = cst.Assign | cst.AnnAssign | cst.AugAssign | cst.For | cst.AsName | cst.NamedExpr
#: leave something behind that a second time would count, or contribute to what other ranks get
_COUNTED = re.compile(
    r"^(append|appendleft|extend|add|insert|update|put|put_nowait|push|pop|popleft|setdefault|write|writerow|writelines|"
    r"send|recv|isend|irecv|step|log|inc|\w*(backward|reduce|gather|scatter|broadcast|all_to_all|accumulate)\w*)$"
)


def propose(site: Site) -> Fix | None:
    """The loop, as often as on the rank with most rounds."""
    loop = counted_loop(site)
    if site.finding.kind != "rank" or loop is None or loop.orelse is not None or loop.asynchronous:
        return None
    if not isinstance(loop.body, cst.IndentedBlock) or {event.op for event in site.finding.events} - _TAKE_NOTHING:
        return None
    if not _is_sequence(site, loop.iter) or _is_counted(site, loop):
        return None
    group = site.group(loop)
    helper = site.module.helper("_largest", LARGEST)
    if group is None or helper is None:
        return None
    tree = site.tree
    name, edits = helper
    named = isinstance(loop.iter, cst.Name)
    rounds = tree.text(loop.iter) if named else fresh("rounds", site.module.taken)
    turn, inner = fresh("turn", site.module.taken), tree.indent(loop.body.body[0])
    target, items = tree.span(loop.target), tree.span(loop.iter)
    head = Span(target.line, target.column, items.end_line, items.end_column)
    item = f"{tree.text(loop.target)} = {rounds}[min({turn}, len({rounds}) - 1)]"
    own = [
        Edit(head, f"{turn} in range({name}(len({rounds}){group.text}))"),
        insertion(tree.first_line(loop.body.body[0]), f"{inner}{item}\n"),
    ]
    if not named:
        own.append(insertion(tree.first_line(loop), f"{tree.indent(loop)}{rounds} = {tree.text(loop.iter)}\n"))
    message = (
        "ranks with fewer rounds repeat their last one, as long as some rank has any; assumes that a second time does"
        " no harm, that every rank has one, and that all ranks come here"
    )
    return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, *own)))


def _is_sequence(site: Site, items: cst.BaseExpression) -> bool:
    """Whether what is walked surely has a length and can be indexed: `range(...)`, `items[a::b]`, a name of it."""
    if isinstance(items, cst.Name):
        bound = [node for node in below(site.function.body) if isinstance(node, _BINDS) and items.value in binds(node)]
        made = [node.value for node in bound if isinstance(node, cst.Assign) and len(node.targets) == 1]
        return len(bound) == len(made) == 1 and isinstance(made[0], cst.Subscript) and _is_sequence(site, made[0])
    if isinstance(items, cst.Subscript):
        only = items.slice[0].slice if len(items.slice) == 1 else None
        return isinstance(only, cst.Slice) and only.step is not None
    return isinstance(items, cst.Call) and isinstance(items.func, cst.Name) and items.func.value == "range"


def _is_counted(site: Site, loop: cst.For) -> bool:
    """Whether a round leaves something that a second one would change: what it adds to, or goes on from."""
    nodes = list(below(loop.body))
    if any(isinstance(node, _EXITS) for node in nodes):
        return True
    if any(isinstance(node, cst.Call) and _COUNTED.match(callee(node)) for node in nodes):
        return True
    inside = set(site.tree.walk(loop))
    elsewhere = parameters(site.function)
    for node in below(site.function.body):
        if node not in inside and isinstance(node, _BINDS):
            elsewhere |= reads(node.target) if isinstance(node, cst.For) else binds(node)
    return bool(binds(loop.body) & reads(loop.body) & elsewhere)
