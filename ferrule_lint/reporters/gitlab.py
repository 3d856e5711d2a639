"""GitLab's code quality report.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

from ferrule_lint.findings import Finding, LintError, Report
from ferrule_lint.reporters.explain import witness_text
from ferrule_lint.reporters.paths import shown_path

_SEVERITY = {"error": "major", "warning": "minor"}


def render(report: Report, root: Path, cwd: Path) -> str:
    """A JSON list of issues."""
    seen: Counter[str] = Counter()
    issues = []
    for finding in report.findings:
        seen[finding.fingerprint] += 1
        issues.append(_issue(finding, seen[finding.fingerprint], root, cwd))
    issues += [_error(error, root, cwd) for error in report.errors]
    return json.dumps(issues, indent=2)


def _issue(finding: Finding, occurrence: int, root: Path, cwd: Path) -> dict[str, Any]:
    span = finding.span
    return {
        "type": "issue",
        "check_name": finding.code,
        "description": f"{finding.code} {finding.message}",
        "content": {"body": witness_text(finding, root, cwd)},
        "categories": ["Bug Risk"],
        "severity": _SEVERITY[finding.severity],
        # has to be unique in a report
        "fingerprint": hashlib.sha256(f"{finding.fingerprint} {occurrence}".encode()).hexdigest(),
        "location": {
            "path": shown_path(finding.path, root, cwd),
            "positions": {
                "begin": {"line": span.line, "column": span.column},
                "end": {"line": span.end_line, "column": span.end_column},
            },
        },
    }


def _error(error: LintError, root: Path, cwd: Path) -> dict[str, Any]:
    return {
        "type": "issue",
        "check_name": "ferrule-lint",
        "description": error.message,
        "categories": ["Bug Risk"],
        "severity": "blocker",
        "fingerprint": hashlib.sha256(f"{error.path} {error.line} {error.message}".encode()).hexdigest(),
        "location": {
            "path": shown_path(error.path, root, cwd) or ".",
            "lines": {"begin": max(error.line, 1)},
        },
    }
