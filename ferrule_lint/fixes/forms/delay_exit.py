"""Delay the exit: ranks that have nothing to do leave below the last collective that needs all of them.

For an early `return` (or `continue`, `break`) in front of the creation of groups, or of barriers, where what stands
between costs nothing and changes nothing that lives on; and for one that all but the first rank take (`if rank != 0:
return`) in front of any collective that all can issue alike, as where the guard is lifted.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.blocks import whole_lines
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.flags import is_pure
from ferrule_lint.fixes.guards import answered_elsewhere, assumptions, for_all
from ferrule_lint.fixes.movable import another_rank, makes_only
from ferrule_lint.fixes.names import below, binds, reads
from ferrule_lint.fixes.site import Site, callee
from ferrule_lint.fixes.tree import Tree

FORM = "delay-exit"
#: these take nothing from the ranks that leave
_TAKE_NOTHING = frozenset({"new_group", "barrier", "monitored_barrier", "wait_for_everyone"})


def propose(site: Site) -> Fix | None:
    """The `if` with the exit, moved below the last statement with an event."""
    tree, owner = site.tree, site.owner
    if not isinstance(owner, cst.If) or owner.orelse is not None or isinstance(tree.parent(owner), cst.If):
        return None
    leave = _exit(owner)
    calls = site.event_calls()
    block = list(tree.block(owner))
    if leave is None or owner not in block or not calls or not (_takes_nothing(site, calls) or _can_stay(site, calls)):
        return None
    behind = block[block.index(owner) + 1 :]
    places = [next((at for at, one in enumerate(behind) if call in list(tree.walk(one))), -1) for call in calls]
    if min(places) < 0:
        return None
    between = behind[: max(places) + 1]
    asked = reads(owner.test) | reads(leave)
    if not is_pure(owner.test) or not _harmless(tree, between, calls):
        return None
    if any(binds(one) & asked for one in between) or not all(_there(site, owner, one, between) for one in between):
        return None
    old = whole_lines(tree, owner)
    text = "".join(tree.source.line(number) + "\n" for number in range(old.line, old.end_line))
    end = tree.span(between[-1]).end_line + 1
    apart = not tree.source.line(old.end_line).strip()
    if apart:
        old = Span(old.line, 1, old.end_line + 1, 1)
        text = "\n" + text
    edits = in_order([Edit(old, ""), insertion(end, text)])
    own = [one for call in calls for one in assumptions(site, owner, call)]
    assumed = " and that ".join(dict.fromkeys(["what stands above may run on them", *own]))
    message = f"ranks leave below the collectives that need all of them; assumes that {assumed}"
    return Fix(FORM, message, Safety.UNSAFE, edits)


def _takes_nothing(site: Site, calls: Sequence[cst.Call]) -> bool:
    """Whether the collectives only let the ranks meet."""
    return all(callee(call) in _TAKE_NOTHING for call in calls) and not any(e.through for e in site.finding.events)


def _can_stay(site: Site, calls: Sequence[cst.Call]) -> bool:
    """Whether the ranks leave for being another than the first, and can issue the collectives as that does."""
    owner, rank = site.owner, site.finding.kind == "rank" and "world" in site.finding.axes
    if not rank or not isinstance(owner, cst.If) or answered_elsewhere(site, owner, calls):
        return False
    return another_rank(site.tree, owner.test) and for_all(site, calls)


def _exit(owner: cst.If) -> cst.BaseSmallStatement | None:
    """The exit that is all of an arm."""
    body = owner.body.body
    line = body[0] if len(body) == 1 else None
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    return small if isinstance(small, cst.Return | cst.Continue | cst.Break) else None


def _harmless(tree: Tree, statements: Sequence[cst.BaseStatement], calls: Sequence[cst.Call]) -> bool:
    """Whether statements do nothing but issue these calls and bind local names."""
    for one in (node for statement in statements for node in below(statement, functions=True)):
        if isinstance(
            one, cst.Return | cst.Continue | cst.Break | cst.Await | cst.Yield | cst.For | cst.While | cst.Del
        ):
            return False
        if isinstance(one, cst.AssignTarget | cst.AnnAssign) and not isinstance(one.target, cst.Name):
            return False
        if isinstance(one, cst.AugAssign) or (isinstance(one, cst.Call) and one not in calls and not makes_only(one)):
            return False
    return True


def _there(site: Site, owner: cst.If, statement: cst.BaseStatement, between: Sequence[cst.BaseStatement]) -> bool:
    """Whether what a statement reads has a value on the ranks that left above it."""
    own = set().union(*(binds(one) for one in between))
    return site.sure(owner, reads(statement) - own, same=False)
