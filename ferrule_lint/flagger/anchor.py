"""Findings -> the nodes of the concrete syntax tree that they speak of.

The analysis knows where a call begins; what a fix moves, and what a fingerprint is made of, are nodes: the call, the
condition that some ranks take differently, the statement around the call. Only files with findings are parsed here.
"""

from __future__ import annotations

import tokenize
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import libcst as cst
from libcst.metadata import CodeRange

from ferrule_lint.findings import Finding, Span, Step
from ferrule_lint.flagger.places import places
from ferrule_lint.flagger.segments import Segment, segments
from ferrule_lint.flagger.thinning import thin

#: a node needs a module to be written out, for line ends and indentation that it does not say itself
_ANY_MODULE = cst.Module([])


def flag(source: bytes, findings: Sequence[Finding]) -> list[Finding]:
    """`findings` of one file with exact ranges, the text of their calls, and the ranges around them.

    What cannot be found keeps the analysis' own range; so does everything if libcst cannot parse the file.
    """
    index = _Index(_lines_of(findings), {finding.span.line for finding in findings})
    try:
        for segment in segments(source):
            index.add(segment)
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError, LookupError):
        return list(findings)
    return [_anchor(finding, index) for finding in findings]


def _lines_of(findings: Iterable[Finding]) -> list[int]:
    """The lines where findings and their conditions begin."""
    lines = {finding.span.line for finding in findings}
    return sorted(lines.union(step.line for finding in findings for step in _condition_steps(finding)))


@dataclass(frozen=True, slots=True)
class _Place:
    span: Span
    node: cst.CSTNode
    #: the statement that is nearest around the node
    statement: Span | None


@dataclass(frozen=True, slots=True)
class _Condition:
    """What decides: the test of an `if`, the iterable of a `for`, ... and the construct it decides about."""

    test: Span
    owner: Span


class _Index(cst.CSTVisitor):
    """Calls, other nodes and conditions of a module by where they begin."""

    def __init__(self, lines: Sequence[int], anchors: Collection[int]) -> None:
        super().__init__()
        #: the only lines that matter, sorted; and those of findings, where the text of a statement counts too
        self._lines = lines
        self._anchors = anchors
        self.calls: dict[tuple[int, int], list[_Place]] = {}
        self.others: dict[tuple[int, int], list[_Place]] = {}
        self.conditions: dict[tuple[int, int], list[_Condition]] = {}
        self._positions: Mapping[cst.CSTNode, CodeRange] = {}
        #: lines of the file before the segment that is visited
        self._before = 0
        #: the statements around the current node
        self._statements: list[Span] = []

    def add(self, segment: Segment) -> None:
        """Index a segment, if it matters and libcst can parse it."""
        if segment.too_deep or not self._matters(segment.first, segment.last):
            return
        before = segment.first - 1
        try:
            text = thin(
                segment.text,
                lambda first, last: self._matters(first + before, last + before),
                lambda line: line + before in self._anchors,
            )
            module = cst.parse_module(text)
            self._positions = places(module)
            self._before = before
            module.visit(self)
        except (cst.ParserSyntaxError, RecursionError):
            self._statements.clear()

    def _matters(self, first: int, last: int) -> bool:
        return bisect_left(self._lines, first) < bisect_right(self._lines, last)

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.SimpleStatementLine):
            span = self._span(node)
            return self._matters(span.line, span.end_line)
        if isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            self._statements.append(self._span(node))
        if isinstance(node, cst.Call):
            self._add(self.calls, node)
        elif isinstance(node, cst.BaseExpression | cst.BaseSmallStatement | cst.BaseCompoundStatement):
            self._add(self.others, node)
        for test in _tests(node):
            condition = _Condition(self._span(test), self._span(node))
            places = {(condition.test.line, condition.test.column), (condition.owner.line, condition.owner.column)}
            for place in places:
                self.conditions.setdefault(place, []).append(condition)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            self._statements.pop()

    def _span(self, node: cst.CSTNode) -> Span:
        # libcst counts columns from 0, findings from 1; both count characters
        start, end = self._positions[node].start, self._positions[node].end
        return Span(start.line + self._before, start.column + 1, end.line + self._before, end.column + 1)

    def _add(self, table: dict[tuple[int, int], list[_Place]], node: cst.CSTNode) -> None:
        span = self._span(node)
        statement = self._statements[-1] if self._statements else None
        table.setdefault((span.line, span.column), []).append(_Place(span, node, statement))


def _tests(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """The expressions that decide which way `node` goes, or how often."""
    match node:
        case cst.If() | cst.While() | cst.IfExp() | cst.CompIf() | cst.Assert():
            return (node.test,)
        case cst.For() | cst.CompFor():
            return (node.iter,)
        case cst.BooleanOperation():
            return (node.left,)
        case cst.Match():
            return (node.subject,)
        case cst.MatchCase() if node.guard is not None:
            return (node.guard,)
        case cst.ExceptHandler() | cst.ExceptStarHandler() if node.type is not None:
            return (node.type,)
    return ()


def _anchor(finding: Finding, index: _Index) -> Finding:
    at = (finding.span.line, finding.span.column)
    place = _best(index.calls.get(at, ()), finding.span) or _exact(index.others.get(at, ()), finding.span)
    if place is None:
        return replace(finding, condition_span=_condition_span(finding, finding.span, index))
    return replace(
        finding,
        span=place.span,
        condition_span=_condition_span(finding, place.span, index),
        statement_span=place.statement,
        anchor_text=" ".join(_ANY_MODULE.code_for_node(place.node).split()),
    )


def _exact(places: Sequence[_Place], span: Span) -> _Place | None:
    """Of the nodes that begin at one place (`a.b()` and `a.b().c()` do), the one that ends where `span` does."""
    return next((place for place in places if place.span == span), None)


def _best(places: Sequence[_Place], span: Span) -> _Place | None:
    """The exact one, else the smallest: an analysis that knows no end speaks of what comes first."""
    exact = _exact(places, span)
    if exact is not None:
        return exact
    return min(places, key=lambda place: (place.span.end_line, place.span.end_column), default=None)


def _condition_span(finding: Finding, call: Span, index: _Index) -> Span | None:
    """The range of the condition that the witness names: the innermost around the call, else the last named.

    A condition need not be around the call: that of a divergent exit comes before it.
    """
    named = [condition for step in _condition_steps(finding) for condition in _at(step, index)]
    around = [condition for condition in named if _contains(condition.owner, call)]
    if around:
        return max(around, key=lambda condition: (condition.owner.line, condition.owner.column)).test
    return named[-1].test if named else None


def _condition_steps(finding: Finding) -> list[Step]:
    return [step for step in finding.witness if step.role == "condition" and step.path == finding.path]


def _at(step: Step, index: _Index) -> list[_Condition]:
    """The conditions at a step's place; a test that begins there comes before a construct that does."""
    found = index.conditions.get((step.line, step.column), [])
    exact = [one for one in found if (one.test.line, one.test.column) == (step.line, step.column)]
    # `a and b and c`: the tests of all begin at `a`; the construct comes first, being visited first
    return (exact or found)[:1]


def _contains(outer: Span, inner: Span) -> bool:
    begins = (outer.line, outer.column) <= (inner.line, inner.column)
    return begins and (inner.end_line, inner.end_column) <= (outer.end_line, outer.end_column)
