"""JUnit's XML: a test suite for each file, a failed test for each finding."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from ferrule_lint.findings import Finding, LintError, Report
from ferrule_lint.reporters.explain import witness_text
from ferrule_lint.reporters.paths import shown_path
from ferrule_lint.reporters.text import visible


def render(report: Report, root: Path, cwd: Path) -> str:
    """The document. XML has no way to write most control characters: they are replaced by visible ones."""
    suites: list[str] = []
    for path, group in groupby(report.findings, key=lambda finding: finding.path):
        cases = [_case(finding, root, cwd) for finding in group]
        suites += _suite(shown_path(path, root, cwd), cases, failures=len(cases))
    if report.errors:
        suites += _suite("ferrule-lint", [_error(error, root, cwd) for error in report.errors], len(report.errors))
    if not suites:
        # an empty report is a broken one to some readers
        suites += _suite("ferrule-lint", ['<testcase name="No problems found" classname="ferrule-lint"/>'])
    counts = f'tests="{max(1, len(report.findings) + len(report.errors))}" failures="{len(report.findings)}"'
    head = f'<testsuites name="ferrule-lint" {counts} errors="{len(report.errors)}" time="{report.seconds:.3f}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>"])


def _suite(name: str, cases: list[str], errors: int = 0, failures: int = 0) -> list[str]:
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}"'
    return [f"  <testsuite name={_attribute(name)} {counts}>", *(f"    {case}" for case in cases), "  </testsuite>"]


def _case(finding: Finding, root: Path, cwd: Path) -> str:
    path = shown_path(finding.path, root, cwd)
    place = f"{path}:{finding.span.line}:{finding.span.column}"
    text = f"{place}: {finding.code} {finding.message}\n{witness_text(finding, root, cwd)}"
    line = f'line="{finding.span.line}" column="{finding.span.column}"'
    return (
        f"<testcase name={_attribute(f'{finding.code} {finding.name}')} classname={_attribute(path)} "
        f"file={_attribute(path)} {line}>"
        f"<failure type={_attribute(finding.severity)} message={_attribute(finding.message)}>{_text(text)}</failure>"
        "</testcase>"
    )


def _error(error: LintError, root: Path, cwd: Path) -> str:
    path = shown_path(error.path, root, cwd) or "ferrule-lint"
    message = f"{path}:{error.line}: {error.message}" if error.line else f"{path}: {error.message}"
    body = f'<error type="error" message={_attribute(error.message)}>{_text(message)}</error>'
    return f'<testcase name="could not be checked" classname={_attribute(path)}>{body}</testcase>'


def _text(text: str) -> str:
    return escape("\n".join(visible(line) for line in text.split("\n")))


def _attribute(text: str) -> str:
    return quoteattr(visible(text))
