"""Where a statement begins: facts keep the line of a statement alone, and its text stands behind an indentation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ferrule_lint.findings import Finding, Span
from ferrule_lint.reporters.source import Sources


def placed(findings: Iterable[Finding], sources: Sources) -> list[Finding]:
    """The findings, with those of their places that have no column of their own where their line's text begins; a
    range that is a point goes to the end of that text."""
    return [
        replace(
            finding,
            span=_span(finding.path, finding.span, sources),
            witness=tuple(replace(step, column=sources.column(step)) for step in finding.witness),
        )
        for finding in findings
    ]


def _span(path: str, span: Span, sources: Sources) -> Span:
    if span.column != 1:
        return span
    begin, end = sources.columns(path, span.line)
    point = (span.end_line, span.end_column) == (span.line, span.column)
    return replace(span, column=begin, end_column=end if point else span.end_column)
