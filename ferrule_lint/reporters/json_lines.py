"""One JSON object a line and finding, as in the JSON report."""

from __future__ import annotations

import json

from ferrule_lint.findings import Report
from ferrule_lint.reporters.json import document


def render(report: Report) -> str:
    """The findings, each in the form that `schema.json` gives it."""
    return "\n".join(json.dumps(finding) for finding in document(report)["findings"])
