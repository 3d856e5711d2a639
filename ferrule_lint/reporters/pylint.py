"""The form of pylint's `parseable` output, which many tools read."""

from __future__ import annotations

from pathlib import Path

from ferrule_lint.findings import Report
from ferrule_lint.reporters.paths import shown_path
from ferrule_lint.reporters.text import visible


def render(report: Report, root: Path, cwd: Path) -> str:
    """`path:line: [CODE] message`, one line a finding."""
    return "\n".join(
        f"{visible(shown_path(finding.path, root, cwd))}:{finding.span.line}: [{finding.code}] "
        f"{visible(finding.message)}"
        for finding in report.findings
    )
