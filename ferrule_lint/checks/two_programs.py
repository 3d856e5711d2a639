"""Ranks that run programs of their own, which talk to each other over a group that each of them is handed.

A player and its trainers, a buffer and who fills it: `if rank == 0: play(group) else: train(group)`. What one sends the
other hears in another function, as often and in the order that their protocol has. Which rank is told what cannot be
compared, and whoever writes the two down knows that they differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ferrule_lint.checks.places import calls_at, trace_of
from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence, Finding, Step
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.axes import WORLD, Axes
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Term, Trace, every_term
from ferrule_lint.semantics.project.entities import FunctionInfo

#: one rank has another part in them than the others
_ROOTED = re.compile(r"(broadcast|scatter|gather|reduce)(_object\w*|_tensor\w*)?$|i?(send|recv)(_\w+)?$")
_SOURCES = ("src", "dst", "group_src", "group_dst")


def of_two_programs(analysis: Analysis, finding: Finding) -> Finding:
    """The finding, as a guess where ranks that differ in it run programs of their own."""
    if finding.kind != "rank" or finding.code != "FER102" or finding.confidence == Confidence.LOW:
        return finding
    if _is_of_another_rank(analysis, finding) or _chooses_program(analysis, finding) or _is_in_one(analysis, finding):
        return replace(finding, confidence=Confidence.LOW)
    return finding


def _is_of_another_rank(analysis: Analysis, finding: Finding) -> bool:
    """Whether all that some ranks alone issue is in a group that they were handed, with a root that is written out and
    not the first rank: who lets in that rank, or one that it talks to, means these two and no other."""
    issued = _issued_here(finding)
    return bool(issued) and all(_has_other_root(analysis, step) for step in issued)


def _issued_here(finding: Finding) -> list[Step]:
    """The events of a finding that its own function issues, if they are in groups smaller than the job."""
    if any(s.role == "call" for s in finding.witness) or any("world" in e.axes for e in finding.events):
        return []
    return [s for s in finding.witness if s.role == "event"]


def _has_other_root(analysis: Analysis, step: Step) -> bool:
    for _, call in calls_at(analysis, step.path, step.line, step.column):
        given = next((value for name, value in call.keywords if name in _SOURCES), None)
        if type(given) is f.Const and given.text.isdigit() and given.text != "0":
            return True
    return False


def _chooses_program(analysis: Analysis, finding: Finding) -> bool:
    """Whether the test calls one function on some ranks and another on the others, and both have a part in the same
    kind of transfer over a group of their own."""
    condition = next((s for s in finding.witness if s.role == "condition"), None)
    call = next((s for s in finding.witness if s.role == "call"), None)
    if condition is None or call is None or condition.path != call.path:
        return False
    for function, _ in calls_at(analysis, call.path, call.line, call.column):
        module = analysis.names.modules[call.path]
        root = trace_of(analysis, function) if function is not None else analysis.module_frame(module).trace()
        for term in every_term(root):
            if type(term) is Choice and term.form == "if" and term.pos[:2] == (condition.line, condition.column):
                return _are_programs([*_arms(term)])
    return False


def _is_in_one(analysis: Analysis, finding: Finding) -> bool:
    """Whether the test stands in a function that is the program of some ranks: `if rank < trainers: push(x) else:
    pull(x)`, where the first of the trainers alone has a part in what those who pull come to."""
    places = (
        place for step in _issued_here(finding)[:1] for place in calls_at(analysis, step.path, step.line, step.column)
    )
    return any(_is_program(analysis, function) for function, _ in places if function is not None)


def _is_program(analysis: Analysis, function: FunctionInfo) -> bool:
    for module in analysis.names.mentioning(function.name):
        for caller, _ in module.calls_named(function.name):
            root = trace_of(analysis, caller) if caller is not None else analysis.module_frame(module).trace()
            for term in every_term(root):
                if type(term) is Choice and term.form == "if" and _parts_ranks(term):
                    arms = [*_arms(term)]
                    if _are_programs(arms) and any(_calls(arm, function) for arm in arms):
                        return True
    return False


def _parts_ranks(choice: Choice) -> bool:
    divergence = divergence_of(choice.formula)
    return divergence is not None and divergence.kind == "rank"


def _calls(arm: Trace, function: FunctionInfo) -> bool:
    return any(type(t) is CallTerm and t.summary.function is not None and t.summary.origin is function for t in arm)


def _arms(choice: Choice) -> Iterator[Trace]:
    """The arms of a choice, and of those that follow it in a chain."""
    yield _issuing(choice.body)
    rest = _issuing(choice.orelse)
    if len(rest) == 1 and type(rest[0]) is Choice:
        yield from _arms(rest[0])
    else:
        yield rest


def _issuing(trace: Trace) -> Trace:
    return tuple(t for t in trace if any(True for term in every_term((t,)) for _ in _transfers(term, rooted=False)))


def _are_programs(arms: list[Trace]) -> bool:
    calls = [arm[0] for arm in arms if len(arm) == 1 and type(arm[0]) is CallTerm]
    if len(calls) < len(arms) or len({id(call.summary.function) for call in calls}) < len(calls):
        return False
    parts = [set(_transfers(call, rooted=True)) for call in calls]
    return all(any(one & other for other in parts if other is not one) for one in parts)


def _transfers(term: Term, rooted: bool) -> Iterator[tuple[str, Axes]]:
    """The events of a term; only those in which one rank has another part, and none of all ranks."""
    events = (term,) if type(term) is Event else term.summary.events if type(term) is CallTerm else ()
    for e in events:
        if not rooted or (_ROOTED.match(e.op) and not e.hidden and not WORLD.issubset(e.axes)):
            yield e.op, e.axes
