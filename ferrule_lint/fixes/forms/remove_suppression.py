"""Remove a suppression that suppresses nothing: its code from the list, or the comment if there is no other code in it.

A line that holds nothing else goes with it. A `disable` is left alone, since its `enable` would have to go as well.
"""

from __future__ import annotations

import re

from ferrule_lint.findings import Edit, Finding, Fix, Safety, Span
from ferrule_lint.fixes.text import SourceText

FORM = "remove-suppression"
CODE = "FER002"
_DIRECTIVE = re.compile(
    r"#\s*ferrule(?:-lint)?:\s*(?:ignore|ignore-file|file-ignore)\s*\[(?P<codes>[^\]#]*)\][^#]*"
    r"|#\s*noqa\s*:\s*(?P<noqa>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*)[^#]*",
    re.IGNORECASE,
)
_CODE = re.compile(r"[^\s,\[\]]+")


def propose(source: SourceText, finding: Finding) -> Fix | None:
    """The edit that takes the code of an unused suppression out of its comment."""
    if finding.code != CODE or not finding.message.startswith("unused suppression"):
        return None
    number, at = finding.span.line, finding.span.column - 1
    line = source.line(number)
    match = next((one for one in _DIRECTIVE.finditer(line) if one.start() <= at < one.end()), None)
    if match is None:
        return None
    group = "codes" if match["codes"] is not None else "noqa"
    codes = [(match.start(group) + one.start(), match.start(group) + one.end()) for one in _CODE.finditer(match[group])]
    index = next((index for index, (start, _) in enumerate(codes) if start == at), None)
    if index is None:
        return None
    if len(codes) > 1:
        start, end = (
            (codes[index][0], codes[index + 1][0]) if index + 1 < len(codes) else (codes[index - 1][1], codes[index][1])
        )
        edit = Edit(Span(number, start + 1, number, end + 1), "")
    else:
        edit = _whole(line, number, match)
    return Fix(FORM, "a suppression that suppresses nothing is removed", Safety.SAFE, (edit,))


def _whole(line: str, number: int, match: re.Match[str]) -> Edit:
    """The comment with its reason; what other tools read in the same line stays."""
    before, after = line[: match.start()], line[match.end() :]
    if not before.strip() and not after.strip():
        return Edit(Span(number, 1, number + 1, 1), "")
    if after.strip():
        return Edit(Span(number, match.start() + 1, number, match.end() + 1), "")
    return Edit(Span(number, len(before.rstrip()) + 1, number, len(line) + 1), "")
