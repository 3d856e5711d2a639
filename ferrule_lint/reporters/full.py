"""The format for reading: each finding with its source, and the witness step by step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ferrule_lint.findings import Finding, Fix, Report, Span
from ferrule_lint.reporters.concise import error_lines, head
from ferrule_lint.reporters.patch import changed_lines
from ferrule_lint.reporters.paths import shown_path
from ferrule_lint.reporters.source import Sources
from ferrule_lint.reporters.text import Line, expand, visible, width

#: source is cut to this many characters
LONGEST = 120
#: lines of a call that are shown before it is cut
MOST_LINES = 4
#: lines of a fix that are shown; `--diff` shows all
MOST_FIX_LINES = 30
_BAR = "bold blue"


def lines(report: Report, root: Path, cwd: Path, *, unsafe: bool = False) -> Iterator[Line]:
    """The report, line by line."""
    sources = Sources(root, report.contents)
    shown: set[tuple[str, Fix]] = set()
    for finding in report.findings:
        yield from finding_lines(finding, sources, root, cwd, unsafe=unsafe)
        if finding.fix is not None:
            # one fix can be for several findings
            again = (finding.path, finding.fix) in shown
            shown.add((finding.path, finding.fix))
            yield from _fix(finding.fix, b"" if again else sources.read(finding.path), _gutter(finding))
        yield []
    yield from error_lines(report, root, cwd)


def finding_lines(finding: Finding, sources: Sources, root: Path, cwd: Path, *, unsafe: bool = False) -> Iterator[Line]:
    """One finding: what, where, and why."""
    yield head(finding, root, cwd, unsafe=unsafe)
    gutter = _gutter(finding)
    yield from _frame(finding, sources, gutter)
    for number, step in enumerate(finding.witness, 1):
        # the place of a step in the finding's own file is its line; elsewhere it needs the path
        place = f"{shown_path(step.path, root, cwd)}:{step.line}:{step.column}"
        mark = f"{number}."
        yield [
            (" " * gutter + " = ", _BAR),
            (f"{mark} ", "bold"),
            (f"{step.role}: ", "cyan"),
            (visible(step.note), ""),
            (f"  ({visible(place)})", "dim"),
        ]
        source = sources.line(step.path, step.line)
        if source is not None and source.strip():
            indent = " " * (len(mark) + 1)
            yield [(f"{step.line:>{gutter}} | ", _BAR), (indent, ""), (_cut(expand(source.strip())), "dim")]


def _gutter(finding: Finding) -> int:
    """The width of the line numbers in front of a finding's sources."""
    return max([len(str(finding.span.end_line)), *(len(str(step.line)) for step in finding.witness)])


def _fix(fix: Fix, source: bytes, gutter: int) -> Iterator[Line]:
    """What the fix is, and the lines that it changes; no `source` if they have been shown before."""
    if not source:
        yield [(" " * gutter + " = ", _BAR), (f"fix ({fix.safety.label}): ", "green"), ("the same as above", "")]
        return
    yield [
        (" " * gutter + " = ", _BAR),
        (f"fix ({fix.safety.label}): ", "green"),
        (visible(fix.message), ""),
    ]
    changed = changed_lines(source, fix)
    for line in changed[:MOST_FIX_LINES]:
        style = {"+": "green", "-": "red"}.get(line[:1], "dim")
        yield [(" " * gutter + " | ", _BAR), (_cut(expand(line)), style)]
    if len(changed) > MOST_FIX_LINES:
        yield [(" " * gutter + " | ", _BAR), (f"... {len(changed) - MOST_FIX_LINES} more lines", "dim")]


def _frame(finding: Finding, sources: Sources, gutter: int) -> Iterator[Line]:
    """The lines of the finding, with the beginning of its range underlined."""
    span = finding.span
    last = min(max(span.end_line, span.line), span.line + MOST_LINES - 1)
    texts = [(number, sources.line(finding.path, number)) for number in range(span.line, last + 1)]
    shown = [(number, text) for number, text in texts if text is not None]
    if not shown:
        return
    yield [(" " * gutter + " |", _BAR)]
    margin = _common_margin([text for _, text in shown])
    for number, text in shown:
        cut = _cut(expand(text[margin:]))
        yield [(f"{number:>{gutter}} | ", _BAR), (cut, "")]
        if number != span.line:
            continue
        before, length = _underline(text, span, margin)
        limit = width(cut)
        if length and before < limit:
            yield [(" " * gutter + " | ", _BAR), (" " * before + "^" * max(1, min(length, limit - before)), "bold red")]
    if span.end_line > last:
        yield [(" " * gutter + " | ", _BAR), ("...", "dim")]
    yield [(" " * gutter + " |", _BAR)]


def _common_margin(texts: list[str]) -> int:
    """How many characters of indentation all lines share; a frame does not need them."""
    filled = [text for text in texts if text.strip()]
    if not filled:
        return 0
    first = filled[0]
    margin = len(first) - len(first.lstrip())
    while margin and not all(text.startswith(first[:margin]) for text in filled):
        margin -= 1
    return margin


def _underline(text: str, span: Span, margin: int) -> tuple[int, int]:
    """Cells before the underline of a range's first line, and its length."""
    start = span.column - 1
    stop = span.end_column - 1 if span.line == span.end_line else len(text.rstrip())
    start = min(max(start, margin), len(text))
    stop = min(stop, len(text))
    before = width(expand(text[margin:start]))
    # a range without a length (a syntax error) still gets its mark
    length = width(expand(text[start:stop])) if stop > start else 1
    return before, length


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
