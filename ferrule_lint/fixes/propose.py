"""Findings of one file -> what could be done about each: the first form that fits."""

from __future__ import annotations

import tokenize
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from ferrule_lint.findings import Finding, Fix
from ferrule_lint.fixes.definitions import Read
from ferrule_lint.fixes.forms import (
    agree_after_loop,
    agree_on_failure,
    agree_on_file,
    agree_on_room,
    all_have,
    average_number,
    barrier_before_exit,
    contribute_nothing,
    delay_exit,
    drop_guard,
    dummy_input,
    end_together,
    finish_dispatch,
    gather_uneven,
    global_rank,
    group_for_all,
    group_place,
    hoist,
    job_rank,
    join_ranks,
    keep_group,
    keep_in_graph,
    leave_finally,
    leave_late,
    leave_together,
    lift_guard,
    local_group,
    narrow_receive,
    pad_across_processes,
    pad_everywhere,
    pair_by_key,
    pass_group,
    raise_at_once,
    reduce_decision,
    reduce_trip_count,
    remove_suppression,
    repeat_last_round,
    run_schedule,
    same_super,
    sort_items,
    split_guard,
    stand_in,
    take_turns,
    unblock_ring,
    uniform_predicate,
    widen_guard,
)
from ferrule_lint.fixes.module import ModuleText
from ferrule_lint.fixes.site import Site, owner_of
from ferrule_lint.fixes.text import SourceText
from ferrule_lint.fixes.tree import Tree, tree_of
from ferrule_lint.flagger.segments import Segment, segments

Form = Callable[[Site], Fix | None]

#: the forms for each rule, the best first
FORMS: dict[str, tuple[Form, ...]] = {
    "FER101": (
        same_super.propose,
        lift_guard.propose,
        uniform_predicate.propose,
        reduce_decision.propose,
        hoist.propose,
    ),
    "FER102": (
        same_super.propose,
        lift_guard.propose,
        split_guard.propose,
        run_schedule.propose,
        drop_guard.propose,
        contribute_nothing.propose,
        agree_on_file.propose,
        agree_on_room.propose,
        all_have.propose,
        average_number.propose,
        uniform_predicate.propose,
        reduce_decision.propose,
        hoist.propose,
    ),
    "FER103": (
        average_number.propose,
        agree_after_loop.propose,
        reduce_decision.propose,
        delay_exit.propose,
        barrier_before_exit.propose,
        leave_together.propose,
        leave_late.propose,
        agree_on_failure.propose,
        agree_on_file.propose,
        local_group.propose,
    ),
    "FER104": (
        pass_group.propose,
        all_have.propose,
        reduce_trip_count.propose,
        repeat_last_round.propose,
        join_ranks.propose,
    ),
    "FER105": (agree_on_failure.propose, end_together.propose, leave_finally.propose, raise_at_once.propose),
    "FER106": (pair_by_key.propose, sort_items.propose),
    "FER107": (widen_guard.propose, dummy_input.propose, stand_in.propose, uniform_predicate.propose, hoist.propose),
    "FER201": (gather_uneven.propose, pad_across_processes.propose, gather_uneven.propose_for_accelerate),
    "FER202": (pad_everywhere.propose,),
    "FER304": (keep_in_graph.propose, average_number.propose),
    "FER303": (narrow_receive.propose, unblock_ring.propose, take_turns.propose),
    "FER402": (global_rank.propose, group_place.propose, job_rank.propose),
    "FER403": (keep_group.propose,),
    "FER401": (group_for_all.propose, local_group.propose),
    "FER301": (finish_dispatch.propose,),
}


#: forms that are offered only where they are preferred: every rank pays for what is hoisted
ON_REQUEST = frozenset({"hoist"})


def propose(data: bytes, findings: Sequence[Finding], read: Read, first: str = "") -> list[Finding]:
    """`findings` of one file, anchored, with a fix where a form fits. Nothing is verified yet.

    `read` gives the contents of other files of the project; `first` is the module of a form that comes before others.
    """
    if not any(finding.code in (*FORMS, remove_suppression.CODE) for finding in findings):
        return list(findings)
    try:
        source = SourceText(data)
        statements = segments(data)
        module = ModuleText(source, statements)
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError, LookupError, cst.ParserSyntaxError):
        return list(findings)
    file = _File(source, statements, module, read, {})
    preferred = [_fix(finding, findings, file, lambda name: name == first) for finding in findings]
    # what one form repairs, others need not cover
    left = [finding for finding, fix in zip(findings, preferred, strict=True) if fix is None]
    return [
        replace(finding, fix=fix or _fix(finding, left, file, lambda name: name not in (first, *ON_REQUEST)))
        for finding, fix in zip(findings, preferred, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _File:
    """One file, with the trees of its top-level statements by their first lines, as far as they were asked for."""

    source: SourceText
    statements: tuple[Segment, ...]
    module: ModuleText
    read: Read
    trees: dict[int, Tree | None]

    def tree(self, line: int) -> Tree | None:
        segment = next((one for one in self.statements if one.first <= line <= one.last), None)
        if segment is None:
            return None
        if segment.first not in self.trees:
            self.trees[segment.first] = tree_of(segment, self.source)
        return self.trees[segment.first]


def _fix(finding: Finding, findings: Sequence[Finding], file: _File, wanted: Callable[[str], bool]) -> Fix | None:
    """What the first of the `wanted` forms that fits makes of a finding; `findings` are those it may cover as well."""
    if finding.code == remove_suppression.CODE:
        return remove_suppression.propose(file.source, finding) if wanted("remove_suppression") else None
    forms = [form for form in FORMS.get(finding.code, ()) if wanted(form.__module__.rpartition(".")[2])]
    tree = file.tree(finding.span.line) if forms else None
    site = None if tree is None else _site(finding, findings, file, tree)
    if site is None:
        return None
    return next((fix for form in forms if (fix := form(site)) is not None), None)


def _events(finding: Finding, tree: Tree) -> Iterator[cst.Call]:
    """The calls of the events in the same file: for findings that stand elsewhere."""
    for event in finding.events:
        if event.path == finding.path:
            yield from tree.calls_at(event.line, event.column)[:1]


def _returned(finding: Finding, tree: Tree) -> cst.Call | None:
    """The call that a `return` with a finding returns."""
    for node in tree.walk(tree.module):
        if isinstance(node, cst.Return) and tree.span(node).line == finding.span.line:
            return node.value if isinstance(node.value, cst.Call) else None
    return None


def _site(finding: Finding, findings: Sequence[Finding], file: _File, tree: Tree) -> Site | None:
    call = tree.at(finding.span, cst.Call) or next(_events(finding, tree), None) or _returned(finding, tree)
    function = None if call is None else tree.function(call)
    if call is None or function is None:
        # module-level code runs when it is imported; nothing is moved there
        return None
    others = tuple(one for one in findings if one is not finding and one.function == finding.function)
    return Site(finding, others, file.module, tree, function, call, owner_of(tree, finding), file.read, file.tree)
