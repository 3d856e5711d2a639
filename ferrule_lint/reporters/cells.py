"""Findings in notebooks, and what `why` says of them: places in the converted text become places in cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ferrule_lint.findings import EventSite, Finding, LintError, NotebookCells, Report, Span, Step, Suppression

if TYPE_CHECKING:
    from ferrule_lint.checks.why import Difference, Explanation

_MARK = ":cell "


def by_cell(report: Report) -> Report:
    """The report with `name.ipynb:cell 3` for a path, and lines of that cell: for people."""

    def place(cells: NotebookCells, path: str, line: int) -> tuple[str, int, str]:
        number, inside = cells.place(line)
        return f"{path}{_MARK}{number}", inside, ""

    texts = {name: text for path, cells in report.notebooks.items() for name, text in texts_of(path, cells).items()}
    return replace(_moved(report, place), contents={**report.contents, **texts})


def texts_of(path: str, cells: NotebookCells) -> dict[str, bytes]:
    """The code of each cell under the path that it is shown by."""
    return {f"{path}{_MARK}{number}": text.encode("utf-8", "replace") for number, text in cells.texts.items()}


def explained(explanation: Explanation, cells: NotebookCells) -> Explanation:
    """What is known of a line in a notebook, by cell: for people."""
    notebook = explanation.path
    asked, line = cells.place(explanation.line)

    def place(path: str, line: int) -> tuple[str, int]:
        if path != notebook or not line:
            return path, line
        number, inside = cells.place(line)
        return f"{path}{_MARK}{number}", inside

    def step(one: Step) -> Step:
        path, line = place(one.path, one.line)
        return replace(one, path=path, line=line)

    def difference(one: Difference) -> Difference:
        return replace(one, why=tuple(map(step, one.why)))

    terms = [(term, *cells.place(term.line)) for term in explanation.trace]
    graph = explanation.graph
    nodes = [(node, *place(node.path or notebook, node.line)) for node in graph.nodes]
    path = f"{notebook}{_MARK}{asked}"
    return replace(
        explanation,
        path=path,
        line=line,
        values=tuple([replace(one, differences=tuple(map(difference, one.differences))) for one in explanation.values]),
        trace=tuple([replace(term, line=inside, cell=0 if cell == asked else cell) for term, cell, inside in terms]),
        graph=replace(
            graph, path=path, line=line, nodes=tuple([replace(node, path=p, line=n) for node, p, n in nodes])
        ),
    )


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
