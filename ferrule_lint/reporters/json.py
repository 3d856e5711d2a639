"""The format for programs: a stable contract, described by `schema.json` beside this file."""

from __future__ import annotations

import json
from typing import Any

import ferrule_lint
from ferrule_lint.findings import EventSite, Finding, Fix, LintError, Report, Step
from ferrule_lint.reporters.cells import split

#: of the contract; raised when a field changes its meaning or goes away
VERSION = "1"


def render(report: Report) -> str:
    """The report as JSON. ASCII only, so that no terminal or encoding can come between."""
    return json.dumps(document(report), indent=2)


def document(report: Report) -> dict[str, Any]:
    """The report as plain values."""
    return {
        "version": VERSION,
        "tool_version": ferrule_lint.__version__,
        "findings": [_finding(finding) for finding in report.findings],
        "errors": [_error(error) for error in report.errors],
        "summary": {
            "files": report.files,
            "lines": report.lines,
            "findings": len(report.findings),
            "suppressed": len(report.suppressed),
            "seconds": round(report.seconds, 3),
        },
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "confidence": finding.confidence.label,
        "message": finding.message,
        **_place(finding.path),
        "line": finding.span.line,
        "column": finding.span.column,
        "end_line": finding.span.end_line,
        "end_column": finding.span.end_column,
        "axes": list(finding.axes),
        "kind": finding.kind,
        "function": finding.function,
        "witness": [_step(step) for step in finding.witness],
        "events": [_event(event) for event in finding.events],
        "fix": None if finding.fix is None else _fix(finding.fix),
        "fingerprint": finding.fingerprint,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "form": fix.form,
        "message": fix.message,
        "safety": fix.safety.label,
        "edits": [
            {
                "line": edit.span.line,
                "column": edit.span.column,
                "end_line": edit.span.end_line,
                "end_column": edit.span.end_column,
                "text": edit.text,
            }
            for edit in fix.edits
        ],
    }


def _step(step: Step) -> dict[str, Any]:
    return {"role": step.role, **_place(step.path), "line": step.line, "column": step.column, "note": step.note}


def _event(event: EventSite) -> dict[str, Any]:
    return {"op": event.op, **_place(event.path), "line": event.line, "column": event.column}


def _error(error: LintError) -> dict[str, Any]:
    return {**_place(error.path), "line": error.line, "message": error.message}


def _place(path: str) -> dict[str, Any]:
    name, cell = split(path)
    return {"path": name} if cell is None else {"path": name, "cell": cell}
