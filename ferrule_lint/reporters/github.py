"""Workflow commands that GitHub Actions shows as annotations of the changed lines.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ferrule_lint.findings import Report
from ferrule_lint.reporters.explain import witness_text
from ferrule_lint.reporters.paths import shown_path


def render(report: Report, root: Path, cwd: Path) -> str:
    """One command a finding or error."""
    return "\n".join(_commands(report, root, cwd))


def _commands(report: Report, root: Path, cwd: Path) -> Iterator[str]:
    for finding in report.findings:
        path = shown_path(finding.path, root, cwd)
        span = finding.span
        properties: dict[str, str | int] = {
            "title": f"ferrule-lint ({finding.code})",
            "file": path,
            "line": span.line,
            "col": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        }
        place = f"{path}:{span.line}:{span.column}"
        text = f"{place}: {finding.code} {finding.message}\n{witness_text(finding, root, cwd)}".rstrip()
        yield f"::{finding.severity} {_properties(properties)}::{_data(text)}"
    for error in report.errors:
        where: dict[str, str | int] = {
            "title": "ferrule-lint",
            "file": shown_path(error.path, root, cwd),
            "line": error.line,
        }
        yield f"::error {_properties({key: value for key, value in where.items() if value})}::{_data(error.message)}"


def _properties(properties: dict[str, str | int]) -> str:
    def escaped(value: str | int) -> str:
        return _data(str(value)).replace(":", "%3A").replace(",", "%2C")

    return ",".join(f"{key}={escaped(value)}" for key, value in properties.items())


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
