"""Collectives under a test of the rank: which of them may be taken out of it, and what that assumes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from ferrule_lint.findings import EventSite
from ferrule_lint.fixes.definitions import definitions
from ferrule_lint.fixes.movable import may_move
from ferrule_lint.fixes.names import below, binds, local_names, mentioned_later, parameters, reads
from ferrule_lint.fixes.site import Site, callee, conjuncts
from ferrule_lint.fixes.terms import asks

#: pairs with what another rank does, or gives a value away: not for all ranks alike
_NOT_FOR_ALL = frozenset({"send", "recv", "isend", "irecv", "batch_isend_irecv", "scatter", "scatter_object_list"})
_BROADCASTS = frozenset({"broadcast", "broadcast_object_list", "broadcast_tensor_dict", "broadcast_object"})
_BARRIERS = frozenset({"barrier", "monitored_barrier", "wait_for_everyone"})
_IN_PLACE = frozenset({"all_reduce", "reduce"})
_MEETS = re.compile(r"barrier|wait_for_everyone|destroy_process_group|^is_|^get_(rank|world_size)|^(print|info|debug)$")


def is_barrier(call: cst.Call) -> bool:
    return callee(call) in _BARRIERS


def only_meets(site: Site) -> bool:
    """Whether the function that is called does nothing but wait for the other ranks, or take leave of them."""
    paths = dict.fromkeys([*(step.path for step in site.finding.witness), *(one.path for one in site.finding.events)])
    found = [one for path in paths for one in definitions(site.read, path, callee(site.call))]
    calls = [one for one in below(found[0].body) if isinstance(one, cst.Call)] if len(found) == 1 else []
    return bool(calls) and all(_MEETS.search(callee(one)) for one in calls)


def for_all(site: Site, calls: Sequence[cst.Call]) -> bool:
    """Whether all of a finding's collectives can be issued by every rank alike; `calls` are those of its events."""
    if not calls or any(callee(call) in _NOT_FOR_ALL for call in calls):
        return False
    return all(may_move(site, event, call) for event in site.finding.events for call in calls_of(site, event))


def answered_elsewhere(site: Site, guard: cst.If, calls: Sequence[cst.Call]) -> bool:
    """Whether another test of the rank holds the like of these calls: the ranks that do not come here issue theirs
    there, as where the first waits after its work for those that have waited before, and would have one too many."""
    own = _rank_terms(site, guard)
    inside = set(map(id, below(guard)))
    for other in below(site.function.body):
        if not isinstance(other, cst.If) or id(other) in inside or guard in list(site.tree.around(other)):
            continue
        terms = _rank_terms(site, other)
        if not terms or guard in list(below(other)):
            continue
        # where the same is asked again, it is the other arm that the other ranks come to
        arms = [other.orelse] if terms <= own else [other.body, other.orelse]
        if any(
            isinstance(one, cst.Call) and any(_like(one, call) for call in calls)
            for arm in arms if arm is not None for one in below(arm)
        ):  # fmt: skip
            return True
    return False


def _rank_terms(site: Site, guard: cst.If) -> set[str]:
    return {site.tree.text(term) for term in conjuncts(guard.test) if asks(site.tree, term) == "rank"}


def _like(one: cst.Call, other: cst.Call) -> bool:
    return callee(one) == callee(other) or (is_barrier(one) and is_barrier(other))


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
    names = reads(term)
    counters = _counters(site, names)
    return site.sure(guard, names - counters) and site.sure(guard, counters, same=False)


def _counters(site: Site, names: set[str]) -> set[str]:
    """Those of `names` that only count, under tests which are no rank's own: `if sync_gradients: step += 1`."""
    found = names & local_names(site.function) - parameters(site.function)
    for node in below(site.function.body):
        if not isinstance(node, cst.SimpleStatementLine):
            continue
        for small in node.body:
            changed = found & binds(small)
            test = site.tree.nearest(node, cst.If) if changed else None
            if test is None:
                continue
            counts = isinstance(small, cst.AugAssign) and isinstance(small.value, cst.Integer)
            if not counts or not all(_is_setting_or_round(site, term) for term in conjuncts(test.test)):
                found -= changed
    return found


def _is_setting_or_round(site: Site, term: cst.BaseExpression) -> bool:
    """A term without calls that asks for a flag, or compares numbers: `sync_gradients`, `(i + 1) % every == 0`."""
    plain = not any(isinstance(one, cst.Call | cst.Subscript) for one in site.tree.walk(term))
    return plain and asks(site.tree, term) in ("truth", "other")


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
