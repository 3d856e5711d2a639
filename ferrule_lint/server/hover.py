"""What an editor shows of the expression under the cursor."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ferrule_lint.findings import Finding
from ferrule_lint.resources import rules_dir
from ferrule_lint.rulebook import load_rules

if TYPE_CHECKING:
    from ferrule_lint.checks.why import Explanation, KnownValue

_MEANING = {
    "uniform": "the same on every rank",
    "unknown": "nothing says whether ranks agree",
    "divergent": "able to differ between ranks",
}


def hover_text(explanation: Explanation | None, text: str, column: int, findings: Iterable[Finding]) -> str:
    """Markdown for what stands at `column` (from 1) of the line `text`: findings with their rules, then the value."""
    parts = [_finding(finding) for finding in findings]
    value = None if explanation is None else _at(explanation.values, text, column)
    if value is not None:
        parts.append(_value(value))
    return "\n\n---\n\n".join(parts)


def _at(values: Iterable[KnownValue], text: str, column: int) -> KnownValue | None:
    """The smallest expression around a column; of a parameter only the name is known, not the place."""
    values = list(values)
    around = [value for value in values if value.column <= column < value.end_column]
    if around:
        return min(around, key=lambda value: value.end_column - value.column)
    words = (match[0] for match in re.finditer(r"\w+", text) if match.start() < column <= match.end())
    word = next(words, "")
    return next((value for value in values if value.text == word), None)


def _value(value: KnownValue) -> str:
    meaning = _MEANING[value.level]
    if value.level == "unknown" and value.parameters:
        meaning = "as the callers decide by " + ", ".join(f"`{name}`" for name in value.parameters)
    lines = [f"`{value.text}`: **{value.level}**, {meaning}"]
    for difference in value.differences:
        axes = ", ".join(difference.axes)
        lines.append(f"\n{difference.facet} differs along {axes} ({difference.kind}, {difference.confidence.label}):\n")
        lines += [
            f"{number}. {step.role}: {step.note} ({step.path}:{step.line})"
            for number, step in enumerate(difference.why, 1)
        ]
    return "\n".join(lines)


def _finding(finding: Finding) -> str:
    rule = load_rules().get(finding.code)
    head = f"**{finding.code}** {finding.message}"
    if rule is None:
        return head
    parts = [head, *(_section(rule.text, heading) for heading in ("What it does", "Why is this bad?"))]
    parts.append(f"**Fix.** {_section(rule.text, 'Fix')}")
    page = (rules_dir() / f"{rule.code}.md").as_uri()
    return "\n\n".join([*parts, f"[The page of {rule.code}]({page}), with examples"])


def _section(page: str, heading: str) -> str:
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0].strip()
