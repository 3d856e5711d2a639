"""Questions about one place of a project: what the analysis holds of it, beside what is reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ferrule_lint.extraction import Crashed, Unparsable, Unreadable, read_facts
from ferrule_lint.findings import NotebookCells
from ferrule_lint.project.cache import FOLDER, FactsCache
from ferrule_lint.project.config import Settings
from ferrule_lint.project.discovery import NOTEBOOK, discover

if TYPE_CHECKING:
    from ferrule_lint.checks.why import Explanation


class CannotAnswer(Exception):
    """The file cannot be read or parsed; the message says why. `line` 0: the whole file."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass(frozen=True, slots=True)
class Answer:
    """The explanation of a line, or None if no statement stands there, and the root its paths are relative to.

    `line` is the one of the file, or of a notebook's code, which has the lines of all its `cells`; that of the next
    statement where the question went on to it.
    """

    explanation: Explanation | None
    root: Path
    line: int
    cells: NotebookCells | None = None


def why(
    path: Path | str,
    line: int,
    settings: Settings,
    *,
    cell: int | None = None,
    onward: bool = False,
    use_cache: bool = True,
    contents: Mapping[Path, bytes] | None = None,
) -> Answer:
    """What the analysis holds of `line` in `path`, or of a notebook in its `cell`. Raises `CannotAnswer`, and
    `ModelError` for a broken model file. `onward`: of the next statement of a function where no statement stands."""
    from ferrule_lint.checks.result import CheckOptions
    from ferrule_lint.checks.why import explain_line, next_statement
    from ferrule_lint.models.loader import load_models

    contents = contents or {}
    discovery = discover([path], settings, contents)
    if discovery.errors:
        raise CannotAnswer(discovery.errors[0].message)
    if len(discovery.report) != 1:
        raise CannotAnswer("is not a Python file")
    (name,) = discovery.report
    given = {
        one.relative_to(discovery.root).as_posix(): data
        for one, data in contents.items()
        if one.is_relative_to(discovery.root)
    }
    cells = None
    if name.endswith(NOTEBOOK):
        cells, given[name] = _notebook(discovery.root / name, given.get(name))
        line = _line_in(name, cells, cell, line)
    elif cell is not None:
        raise CannotAnswer("is no notebook, and has no cells")
    cache = FactsCache(settings.cache_dir or discovery.root / FOLDER) if use_cache else None
    facts = {}
    for one, outcome in read_facts(discovery.root, discovery.read, cache, 1, given):
        match outcome:
            case Unreadable() | Unparsable() | Crashed():
                if one == name:
                    raise _cannot(outcome)
            case _:
                facts[one] = outcome
    options = CheckOptions(sharded=settings.sharded)
    ordered = {one: facts[one] for one in discovery.read if one in facts}
    models = load_models(settings.models)
    explanation = explain_line(ordered, models, name, line, options)
    if explanation is None and onward and (below := next_statement(ordered[name], line)):
        line = below
        explanation = explain_line(ordered, models, name, line, options)
    return Answer(explanation, discovery.root, line, cells)


def _notebook(path: Path, content: bytes | None) -> tuple[NotebookCells, bytes]:
    """The cells of a notebook, and their code."""
    from ferrule_lint.frontend.errors import SourceError
    from ferrule_lint.frontend.notebook import read_notebook

    try:
        notebook = read_notebook(path.read_bytes() if content is None else content)
    except OSError as error:
        raise CannotAnswer(f"cannot be read: {error.strerror or error}") from None
    except SourceError as error:
        raise CannotAnswer(error.message) from None
    if notebook is None:
        raise CannotAnswer("has no cell with Python in it")
    return NotebookCells(notebook.cells, notebook.texts), notebook.source


def _line_in(path: str, cells: NotebookCells, cell: int | None, line: int) -> int:
    """The line in a notebook's code of a line in a cell."""
    if cell is None:
        name = f"{path}:cell {cells.cells[0][1] if cells.cells else 1}:{line}"
        raise CannotAnswer(f"has cells; line {line} of the first one is {name!r}")
    for first, number, lines in cells.cells:
        if number == cell and line <= lines:
            return first + line - 1
        if number == cell:
            raise CannotAnswer(f"cell {cell} has {lines} {'line' if lines == 1 else 'lines'}")
    raise CannotAnswer(f"cell {cell} is none with code")


def _cannot(outcome: Unreadable | Unparsable | Crashed) -> CannotAnswer:
    match outcome:
        case Unparsable():
            return CannotAnswer(f"cannot be parsed: {outcome.message}", outcome.line)
        case Unreadable():
            return CannotAnswer(f"cannot be read: {outcome.reason}")
        case Crashed():
            return CannotAnswer(outcome.message)
