"""One line a finding, and the lines that all text formats share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ferrule_lint.findings import Finding, Report, Safety
from ferrule_lint.reporters.paths import shown_path
from ferrule_lint.reporters.text import Line, visible


def lines(report: Report, root: Path, cwd: Path) -> Iterator[Line]:
    """The report, line by line."""
    for finding in report.findings:
        yield head(finding, root, cwd)
    yield from error_lines(report, root, cwd)


def head(finding: Finding, root: Path, cwd: Path) -> Line:
    """`path:line:column: CODE [confidence] message`, with `[*]` where `--fix` helps."""
    return [
        (visible(shown_path(finding.path, root, cwd)), "bold"),
        (f":{finding.span.line}:{finding.span.column}: ", ""),
        (finding.code, "bold red"),
        (f" [{finding.confidence.label}] ", ""),
        *([("[*] ", "bold cyan")] if finding.fix is not None and finding.fix.safety == Safety.SAFE else []),
        (visible(finding.message), ""),
    ]


def error_lines(report: Report, root: Path, cwd: Path) -> Iterator[Line]:
    """What went wrong."""
    for error in report.errors:
        path = visible(shown_path(error.path, root, cwd))
        place = f"{path}:{error.line}: " if path and error.line else f"{path}: " if path else ""
        yield [("error: ", "bold red"), (place, "bold"), (visible(error.message), "")]


def summary(report: Report) -> Iterator[Line]:
    """The last line: how much was found in how much."""
    files = _plural(report.files, "file")
    suppressed = f", {report.suppressed} suppressed" if report.suppressed else ""
    if report.findings:
        count = Counter(finding.severity for finding in report.findings)
        parts = ", ".join(_plural(number, severity) for severity, number in sorted(count.items()))
        fixed = f", {report.fixed} fixed" if report.fixed else ""
        yield [(f"Found {_plural(len(report.findings), 'problem')} ({parts}) in {files}{suppressed}{fixed}.", "bold")]
        yield from _fixable(report)
    elif report.fixed:
        yield [(f"Fixed {_plural(report.fixed, 'problem')} in {files}{suppressed}, none left.", "bold green")]
    elif report.errors:
        yield [(f"No problems found in {files}, but not all of it could be checked{suppressed}.", "bold")]
    elif not report.files:
        yield [("No Python files found.", "bold yellow")]
    else:
        yield [(f"No problems found in {files}{suppressed}.", "bold green")]


def _fixable(report: Report) -> Iterator[Line]:
    """How many of the findings a fix helps."""
    count = Counter(finding.fix.safety for finding in report.findings if finding.fix is not None)
    safe, unsafe = count[Safety.SAFE], count[Safety.UNSAFE]
    if safe and unsafe:
        yield [(f"[*] {safe} fixable with --fix ({unsafe} more with --unsafe-fixes).", "")]
    elif safe:
        yield [(f"[*] {safe} fixable with --fix.", "")]
    elif unsafe:
        yield [(f"No fixes without assumptions; {unsafe} with --fix --unsafe-fixes.", "")]


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
