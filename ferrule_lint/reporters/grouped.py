"""Findings by file, one line each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from ferrule_lint.findings import Report
from ferrule_lint.reporters.concise import code_fragment, error_lines, fix_mark
from ferrule_lint.reporters.paths import shown_path
from ferrule_lint.reporters.text import Line, visible


def lines(report: Report, root: Path, cwd: Path, *, unsafe: bool = False) -> Iterator[Line]:
    """The report, line by line."""
    for path, group in groupby(report.findings, key=lambda finding: finding.path):
        findings = list(group)
        places = [f"{finding.span.line}:{finding.span.column}" for finding in findings]
        width = max(map(len, places))
        yield [(visible(shown_path(path, root, cwd)), "bold underline"), (":", "")]
        for place, finding in zip(places, findings, strict=True):
            yield [
                (f"  {place:<{width}}  ", ""),
                code_fragment(finding.code),
                (f" [{finding.confidence.label}] ", ""),
                *fix_mark(finding, unsafe=unsafe),
                (visible(finding.message), ""),
            ]
        yield []
    yield from error_lines(report, root, cwd)
