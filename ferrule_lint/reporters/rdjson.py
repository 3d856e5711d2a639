"""Reviewdog's diagnostics.

https://github.com/reviewdog/reviewdog/tree/master/proto/rdf
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ferrule_lint.findings import Finding, Report, Span
from ferrule_lint.reporters.paths import shown_path
from ferrule_lint.reporters.source import Sources


def render(report: Report, root: Path, cwd: Path) -> str:
    """A JSON object with all diagnostics."""
    sources = Sources(root, report.contents)
    diagnostics = [_diagnostic(finding, sources, root, cwd) for finding in report.findings]
    for error in report.errors:
        location: dict[str, Any] = {"path": shown_path(error.path, root, cwd) or "."}
        if error.line:
            location["range"] = {"start": {"line": error.line}}
        diagnostics.append({"message": error.message, "location": location, "severity": "ERROR"})
    return json.dumps({"source": {"name": "ferrule-lint"}, "diagnostics": diagnostics}, indent=2)


def _diagnostic(finding: Finding, sources: Sources, root: Path, cwd: Path) -> dict[str, Any]:
    return {
        "message": finding.message,
        "location": {
            "path": shown_path(finding.path, root, cwd),
            "range": _range(finding.path, finding.span, sources),
        },
        "severity": finding.severity.upper(),
        "code": {"value": finding.code},
        "relatedLocations": [
            {
                "message": f"{step.role}: {step.note}",
                "location": {
                    "path": shown_path(step.path, root, cwd),
                    "range": {"start": _position(step.path, step.line, step.column, sources)},
                },
            }
            for step in finding.witness
        ],
    }


def _range(path: str, span: Span, sources: Sources) -> dict[str, Any]:
    return {
        "start": _position(path, span.line, span.column, sources),
        "end": _position(path, span.end_line, span.end_column, sources),
    }


def _position(path: str, line: int, column: int, sources: Sources) -> dict[str, int]:
    """Reviewdog counts the bytes of UTF-8, findings characters."""
    text = sources.line(path, line)
    if text is not None:
        column = len(text[: column - 1].encode("utf-8", "replace")) + 1
    return {"line": line, "column": column}
