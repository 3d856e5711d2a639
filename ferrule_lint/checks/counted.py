"""Rounds that every rank counts for itself, and of which all run as many, whatever some leave out on the way.

`while step < most:` around a loop over the loader, with `step += 1` beside the collective: who skips a batch, or takes
every eighth, takes more batches, and ends when it has issued as many collectives as the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeGuard

from ferrule_lint.checks.places import calls_at, trace_of
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, statements, walk, way_to
from ferrule_lint.findings import Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.domain.trace import CallTerm, Event, Loop, Trace, every_term

_CODES = frozenset({"FER102", "FER103"})
_ORDERS = frozenset({"<", "<=", ">", ">=", "==", "!="})


def but_of_counted_rounds(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings without those about loops that end by the number of rounds in which the collective was issued."""
    return [finding for finding in findings if not _is_counted(analysis, finding)]


def _is_counted(analysis: Analysis, finding: Finding) -> bool:
    decides = next((s for s in finding.witness if s.role == "condition" and s.path == finding.path), None)
    if finding.code not in _CODES or decides is None:
        return False
    place = (finding.span.line, finding.span.column)
    for function, _ in calls_at(analysis, finding.path, *place):
        if function is None:
            continue
        way = [block[i] for block, i in way_to(function.body, place)]
        counters = _counted(finding.code, way, decides.line) - {""}
        for i, around in enumerate(way if counters else ()):
            inner = next((s for s in way[i + 1 :] if type(s) is f.For), None)
            if type(around) is not f.While or inner is None or around.line == decides.line:
                continue
            ends = counters & {name for s in statements(inner.body) if _exits(s) for name in _asked(s.test)}
            asked = around.test == f.Const("True") or not ends.isdisjoint(_asked(around.test))
            if ends and asked and not _meets_beside(trace_of(analysis, function), around.line, inner.line):
                return True
    return False


def _counted(code: str, way: list[f.Stmt], line: int) -> set[str]:
    """What counts the rounds in which the call is come to: on the way that the test at a line leaves."""
    if code == "FER102":
        dealt = next((i for i, s in enumerate(way) if type(s) is f.If and _deals_out(s.test)), len(way))
        arms = [s for s in way[dealt:] if type(s) is f.If and s.line == line]
        return {name for s in arms for name in _added_to(s.body, 0)}
    skips = [
        loop
        for loop in way
        if type(loop) in (f.For, f.While)
        for block in blocks(loop)
        for s in block
        if type(s) is f.If and s.line == line and s.body and type(s.body[-1]) is f.Continue
    ]
    return {name for loop in skips for name in _added_to((loop,), line)}


def _deals_out(test: f.Expr) -> bool:
    """`i % n == rank`"""
    return any(type(node) is f.Op and node.kind == "Mod" for node in walk((test,)))


def _added_to(body: f.Body, after: int) -> Iterator[str]:
    for s in statements(body):
        if type(s) is f.AugAssign and s.op == "Add" and type(s.value) is f.Const and s.line > after:
            yield place_name(s.target)


def _exits(s: f.Stmt) -> TypeGuard[f.If]:
    return type(s) is f.If and any(type(e) is f.Break or type(e) is f.Return for e in statements(s.body))


def _asked(test: f.Expr) -> set[str]:
    """The places that a test compares."""
    compared = [node for node in walk((test,)) if type(node) is f.Compare and node.ops[0] in _ORDERS]
    return {place_name(side) for node in compared for side in (node.left, *node.rights)}


def _meets_beside(trace: Trace, around: int, inner: int) -> bool:
    """Whether rounds of the loop around issue something beside the inner loop, where ranks are in other epochs."""
    loops = [t for t in every_term(trace) if type(t) is Loop]
    within = {id(t) for loop in loops if loop.pos[0] == inner for t in every_term((loop,))}
    return any(
        id(t) not in within and (type(t) is Event or (type(t) is CallTerm and bool(t.summary.events)))
        for loop in loops
        if loop.pos[0] == around
        for t in every_term(loop.body)
    )
