"""One line a finding, and the lines that all text formats share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from ferrule_lint.findings import Finding, Report, Safety
from ferrule_lint.reporters.paths import shown_path
from ferrule_lint.reporters.text import Fragment, Line, visible
from ferrule_lint.resources import rules_dir

#: rules that say themselves what to do: a file that cannot be parsed, a comment that suppresses nothing
_PLAIN = ("FER001", "FER002")


def lines(report: Report, root: Path, cwd: Path, *, unsafe: bool = False) -> Iterator[Line]:
    """The report, line by line."""
    for finding in report.findings:
        yield head(finding, root, cwd, unsafe=unsafe)
    yield from error_lines(report, root, cwd)


def head(finding: Finding, root: Path, cwd: Path, *, unsafe: bool = False) -> Line:
    """`path:line:column: CODE [confidence] message`, with `[*]` where `--fix` helps."""
    return [
        (visible(shown_path(finding.path, root, cwd)), "bold"),
        (f":{finding.span.line}:{finding.span.column}: ", ""),
        code_fragment(finding.code),
        (f" [{finding.confidence.label}] ", ""),
        *fix_mark(finding, unsafe=unsafe),
        (visible(finding.message), ""),
    ]


def fix_mark(finding: Finding, *, unsafe: bool) -> Line:
    """`[*]` where `--fix` helps; `unsafe`: with fixes that rest on assumptions."""
    least = Safety.UNSAFE if unsafe else Safety.SAFE
    return [("[*] ", "bold cyan")] if finding.fix is not None and finding.fix.safety >= least else []


def code_fragment(code: str) -> Fragment:
    """A code, linked to the page of its rule where the terminal can follow links."""
    return (code, f"bold red link {(rules_dir() / code).with_suffix('.md').as_uri()}")


def error_lines(report: Report, root: Path, cwd: Path) -> Iterator[Line]:
    """What went wrong."""
    for error in report.errors:
        path = visible(shown_path(error.path, root, cwd))
        place = f"{path}:{error.line}: " if path and error.line else f"{path}: " if path else ""
        yield [("error: ", "bold red"), (place, "bold"), (visible(error.message), "")]


def summary(
    report: Report,
    *,
    unreported: int = 0,
    unsafe: bool = False,
    with_help: bool = False,
    shared: Iterable[Line] = (),
) -> Iterator[Line]:
    """The last lines: how much was found in how much, what several findings share, what fixes do.

    `unreported` findings are left that nobody wants to see (`--fix-only`). `unsafe`: `--fix` would apply fixes that
    rest on assumptions. `with_help`: say where to read on, for findings without a fix. `shared`: see `premises`.
    """
    files = _plural(report.files, "file")
    suppressed = _suppressed(report)
    if report.findings:
        count = Counter(finding.severity for finding in report.findings)
        parts = ", ".join(_plural(number, severity) for severity, number in sorted(count.items()))
        fixed = f", {report.fixed} fixed" if report.fixed else ""
        yield [(f"Found {_plural(len(report.findings), 'problem')} ({parts}) in {files}{suppressed}{fixed}.", "bold")]
        yield from shared
        yield from _fixable(report, unsafe=unsafe)
        if with_help:
            yield from _help(report)
    elif report.fixed or unreported:
        left, style = (f"{unreported} left", "bold") if unreported else ("none left", "bold green")
        # the files are those that were looked at, not those that have changed
        yield [(f"Fixed {_plural(report.fixed, 'problem')}, {left} in {files}{suppressed}.", style)]
    elif report.errors:
        yield [(f"No problems found in {files}, but not all of it could be checked{suppressed}.", "bold")]
    elif not report.files:
        yield [("No Python files found.", "bold yellow")]
    else:
        yield [(f"No problems found in {files}{suppressed}.", "bold green")]


def what_helps(report: Report, *, unsafe: bool) -> Iterator[Line]:
    """What the summary says of fixes, and of findings without one."""
    yield from _fixable(report, unsafe=unsafe)
    yield from _help(report)


def _fixable(report: Report, *, unsafe: bool) -> Iterator[Line]:
    """How many of the findings a fix helps."""
    count = Counter(finding.fix.safety for finding in report.findings if finding.fix is not None)
    helped, more = count[Safety.SAFE], count[Safety.UNSAFE]
    if unsafe:
        helped, more = helped + more, 0
    if helped and more:
        yield [(f"[*] {helped} fixable with --fix ({more} more with --unsafe-fixes).", "")]
    elif helped:
        yield [(f"[*] {helped} fixable with --fix.", "")]
    elif more:
        yield [(f"No fixes without assumptions; {more} with --fix --unsafe-fixes.", "")]


def _help(report: Report) -> Iterator[Line]:
    """Where a reader finds what helps where no fix is shown."""
    codes = [finding.code for finding in report.findings if finding.fix is None and finding.code not in _PLAIN]
    if not codes:
        return
    number = "it" if len(report.findings) == 1 else f"{len(codes)} of them"
    kinds = sorted(set(codes))
    which = kinds[0] if len(kinds) == 1 else "CODE"
    listed = "" if len(kinds) == 1 else f" ({', '.join(kinds)})"
    yield [(f"No fix is offered for {number}; `ferrule-lint explain {which}` says what usually helps{listed}.", "")]


def _suppressed(report: Report) -> str:
    """How much there is beside what is reported."""
    old = sum(one.suppression is not None and one.suppression.form == "baseline" for one in report.suppressed)
    comments = len(report.suppressed) - old
    return (f", {comments} suppressed" if comments else "") + (f", {old} in the baseline" if old else "")


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
