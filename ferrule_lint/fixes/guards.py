"""Collectives under a test of the rank: which of them may be taken out of it, and what that assumes."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from ferrule_lint.findings import EventSite
from ferrule_lint.fixes.movable import may_move
from ferrule_lint.fixes.names import local_names, mentioned_later, parameters, reads
from ferrule_lint.fixes.site import Site, callee
from ferrule_lint.fixes.tests import asks

#: pairs with what another rank does, or gives a value away: not for all ranks alike
_NOT_FOR_ALL = frozenset({"send", "recv", "isend", "irecv", "batch_isend_irecv", "scatter", "scatter_object_list"})
_BROADCASTS = frozenset({"broadcast", "broadcast_object_list", "broadcast_tensor_dict", "broadcast_object"})
_BARRIERS = frozenset({"barrier", "monitored_barrier", "wait_for_everyone"})
_IN_PLACE = frozenset({"all_reduce", "reduce"})


def is_barrier(call: cst.Call) -> bool:
    return callee(call) in _BARRIERS


def for_all(site: Site, calls: Sequence[cst.Call]) -> bool:
    """Whether all of a finding's collectives can be issued by every rank alike; `calls` are those of its events."""
    if not calls or any(callee(call) in _NOT_FOR_ALL for call in calls):
        return False
    return all(may_move(site, event, call) for event in site.finding.events for call in calls_of(site, event))


def calls_of(site: Site, event: EventSite) -> list[cst.Call]:
    return site.tree.calls_at(event.line, event.column)[:1]


def gives_away(site: Site, call: cst.Call) -> bool:
    """Whether one rank's value replaces that of the others, so that they may come with any."""
    return all(event.op == "broadcast" for event in site.finding.events if call in calls_of(site, event))


def assumptions(site: Site, guard: cst.If, call: cst.Call) -> list[str]:
    """What has to hold for a collective of `guard` to be issued by every rank."""
    found = []
    if any(event.through and call in calls_of(site, event) for event in site.finding.events):
        found.append(f"`{callee(call)}` may run on every rank")
    if callee(call) in _BROADCASTS:
        found.append("every rank has a buffer for what is broadcast")
    if callee(call) in _IN_PLACE and call.args:
        changed = reads(call.args[0].value)
        own = local_names(site.function) - parameters(site.function)
        if not changed <= own or mentioned_later(site.tree, site.function, guard, changed):
            found.append("the reduced value is wanted on the other ranks, too")
    return found


def same_everywhere(site: Site, term: cst.BaseExpression, guard: cst.If) -> bool:
    """Whether a term beside the test of the rank can be asked on every rank: it reads names that all have."""
    for one in site.tree.walk(term):
        if isinstance(one, cst.Await | cst.NamedExpr | cst.Subscript) or (
            isinstance(one, cst.Call) and not _is_setting(one)
        ):
            return False
    if asks(site.tree, term) in ("presence", "file", "clock") and not _is_given(term):
        return False
    return site.sure(guard, reads(term))


def _is_setting(call: cst.Call) -> bool:
    """`getattr(config, "name", default)`."""
    plain = isinstance(call.func, cst.Name) and call.func.value == "getattr" and len(call.args) == 3
    return plain and isinstance(call.args[1].value, cst.SimpleString)


def _is_given(term: cst.BaseExpression) -> bool:
    """`config.limit is not None`: whether a setting was given, which is an attribute of something but `self`."""
    if not isinstance(term, cst.Comparison) or len(term.comparisons) != 1:
        return False
    only, left = term.comparisons[0], term.left
    root: cst.BaseExpression = left
    while isinstance(root, cst.Attribute):
        root = root.value
    none = isinstance(only.comparator, cst.Name) and only.comparator.value == "None"
    given = isinstance(only.operator, cst.Is | cst.IsNot) and none
    return (
        given and isinstance(left, cst.Attribute) and isinstance(root, cst.Name) and root.value not in ("self", "cls")
    )
