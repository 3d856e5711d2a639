"""Findings in notebooks: places in the converted text become places in cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ferrule_lint.findings import EventSite, Finding, LintError, NotebookCells, Report, Span, Step, Suppression

_MARK = ":cell "


def by_cell(report: Report) -> Report:
    """The report with `name.ipynb:cell 3` for a path, and lines of that cell: for people."""

    def place(cells: NotebookCells, path: str, line: int) -> tuple[str, int, str]:
        number, inside = cells.place(line)
        return f"{path}{_MARK}{number}", inside, ""

    texts = {
        f"{path}{_MARK}{number}": text.encode("utf-8", "replace")
        for path, cells in report.notebooks.items()
        for number, text in cells.texts.items()
    }
    return replace(_moved(report, place), contents={**report.contents, **texts})


def at_top(report: Report) -> Report:
    """The report with findings at the beginning of the notebook, and the cell in the text: for formats that know
    files and lines only."""

    def place(cells: NotebookCells, path: str, line: int) -> tuple[str, int, str]:
        number, inside = cells.place(line)
        return path, 1, f"cell {number}, line {inside}: "

    return _moved(report, place)


def split(path: str) -> tuple[str, int | None]:
    """`name.ipynb:cell 3` as (name, 3); any other path and None."""
    name, mark, number = path.rpartition(_MARK)
    return (name, int(number)) if mark and number.isdigit() else (path, None)


_Place = Callable[[NotebookCells, str, int], tuple[str, int, str]]


def _moved(report: Report, place: _Place) -> Report:
    if not report.notebooks:
        return report
    cells = report.notebooks

    def step(one: Step) -> Step:
        if one.path not in cells:
            return one
        path, line, note = place(cells[one.path], one.path, one.line)
        return replace(one, path=path, line=line, column=1 if note else one.column, note=note + one.note)

    def event(one: EventSite) -> EventSite:
        if one.path not in cells:
            return one
        path, line, note = place(cells[one.path], one.path, one.line)
        return replace(one, path=path, line=line, column=1 if note else one.column)

    def suppression(one: Suppression | None) -> Suppression | None:
        if one is None or one.path not in cells or not one.line:
            return one
        path, line, _ = place(cells[one.path], one.path, one.line)
        return replace(one, path=path, line=line)

    def finding(one: Finding) -> Finding:
        moved = replace(
            one,
            witness=tuple(map(step, one.witness)),
            events=tuple(map(event, one.events)),
            suppression=suppression(one.suppression),
        )
        if one.path not in cells:
            return moved
        path, line, note = place(cells[one.path], one.path, one.span.line)
        _, end, _ = place(cells[one.path], one.path, one.span.end_line)
        span = Span(1, 1, 1, 1) if note else Span(line, one.span.column, end, one.span.end_column)
        return replace(moved, path=path, span=span, message=note + one.message, known_fingerprint=one.fingerprint)

    def error(one: LintError) -> LintError:
        if one.path not in cells or not one.line:
            return one
        path, line, note = place(cells[one.path], one.path, one.line)
        return LintError(path, line, note + one.message)

    return replace(
        report,
        findings=tuple(map(finding, report.findings)),
        suppressed=tuple(map(finding, report.suppressed)),
        errors=tuple(map(error, report.errors)),
    )
