"""Logging commands of Azure Pipelines.

https://learn.microsoft.com/azure/devops/pipelines/scripts/logging-commands
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ferrule_lint.findings import Report
from ferrule_lint.reporters.paths import shown_path


def render(report: Report, root: Path, cwd: Path) -> str:
    """One command a finding or error."""
    return "\n".join(_commands(report, root, cwd))


def _commands(report: Report, root: Path, cwd: Path) -> Iterator[str]:
    for finding in report.findings:
        path = _property(shown_path(finding.path, root, cwd))
        place = f"sourcepath={path};linenumber={finding.span.line};columnnumber={finding.span.column};"
        yield f"##vso[task.logissue type={finding.severity};{place}code={finding.code};]{_data(finding.message)}"
    for error in report.errors:
        place = f"sourcepath={_property(shown_path(error.path, root, cwd))};" if error.path else ""
        place += f"linenumber={error.line};" if error.line else ""
        yield f"##vso[task.logissue type=error;{place}]{_data(error.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(";", "%3B").replace("]", "%5D")
