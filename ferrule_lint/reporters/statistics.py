"""How often each rule was broken."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from ferrule_lint.findings import Report
from ferrule_lint.reporters.text import Line


def _counts(report: Report) -> list[tuple[str, str, int]]:
    """(code, name, number), the most frequent first."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    return [(code, name, number) for (code, name), number in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]


def lines(report: Report) -> Iterator[Line]:
    """A table: number, code, name."""
    counts = _counts(report)
    digits = max((len(str(number)) for _, _, number in counts), default=0)
    for code, name, number in counts:
        yield [(f"{number:>{digits}}", "bold"), (f"  {code}", "bold red"), (f"  {name}", "")]


def render(report: Report) -> str:
    """The same as a JSON list."""
    counts = [{"code": code, "name": name, "count": number} for code, name, number in _counts(report)]
    return json.dumps(counts, indent=2)
