"""Paths as the reader types them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ferrule_lint.findings import Report


def shown_path(path: str, root: Path, cwd: Path) -> str:
    """`path`, which is relative to the project's `root`, relative to the current folder instead."""
    if not path:
        return ""
    return Path(os.path.relpath(root / path, cwd)).as_posix()


def relocated(report: Report, root: Path, cwd: Path) -> Report:
    """The report with all paths relative to the current folder, as the text formats show them."""
    if root == cwd:
        return report

    def here(path: str) -> str:
        return shown_path(path, root, cwd)

    return replace(
        report,
        findings=tuple(
            replace(
                finding,
                path=here(finding.path),
                witness=tuple(replace(step, path=here(step.path)) for step in finding.witness),
                events=tuple(replace(event, path=here(event.path)) for event in finding.events),
                # it is of the path in the project, wherever one stands
                known_fingerprint=finding.fingerprint,
            )
            for finding in report.findings
        ),
        errors=tuple(replace(error, path=here(error.path)) for error in report.errors),
    )
