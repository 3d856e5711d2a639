"""The witness of a finding as plain lines, for formats that have room for a text but none for a path."""

from __future__ import annotations

from pathlib import Path

from ferrule_lint.findings import Finding
from ferrule_lint.reporters.paths import shown_path


def witness_text(finding: Finding, root: Path, cwd: Path) -> str:
    """`1. source: ... (path:line:column)`, a line a step; nothing if there is no witness."""
    return "\n".join(
        f"{number}. {step.role}: {step.note} ({shown_path(step.path, root, cwd)}:{step.line}:{step.column})"
        for number, step in enumerate(finding.witness, 1)
    )
