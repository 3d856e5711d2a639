"""Blocks that ranks go through one after another: who waits when it enters does not when it leaves.

`__enter__` and `__exit__` run in turn, in two functions of which neither sees what the other issues. Where both have
the same operation under a test of the rank, and not the same test, one makes up for the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ferrule_lint.checks.places import calls_at, trace_of
from ferrule_lint.findings import Confidence, Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.trace import Choice, Event, every_term
from ferrule_lint.semantics.project.entities import FunctionInfo

_OTHER = {"__enter__": "__exit__", "__exit__": "__enter__", "__aenter__": "__aexit__", "__aexit__": "__aenter__"}


def made_up_for(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings, of which those about one half of such a block are guesses."""
    return [
        replace(finding, confidence=Confidence.LOW)
        if finding.code == "FER102" and finding.kind == "rank" and _is_half(analysis, finding)
        else finding
        for finding in findings
    ]


def _is_half(analysis: Analysis, finding: Finding) -> bool:
    issued = frozenset(event.op for event in finding.events)
    for function, _ in calls_at(analysis, finding.path, finding.span.line, finding.span.column):
        if function is None or function.name not in _OTHER:
            continue
        owner = function.module.classes.get(function.owner or "")
        other = owner.methods.get(_OTHER[function.name]) if owner is not None else None
        if other is None:
            continue
        here, there = _tests(analysis, function, issued), _tests(analysis, other, issued)
        if here and there and here.isdisjoint(there):
            return True
    return False


def _tests(analysis: Analysis, function: FunctionInfo, issued: frozenset[str]) -> frozenset[str]:
    """The tests of the rank, as text, under which a function issues all of some operations."""
    found = set()
    for term in every_term(trace_of(analysis, function)):
        divergence = divergence_of(term.formula) if type(term) is Choice else None
        if type(term) is Choice and divergence is not None and divergence.kind == "rank":
            ops = {t.op for t in every_term((*term.body, *term.orelse)) if type(t) is Event}
            if issued <= ops:
                found.add(term.text)
    return frozenset(found)
