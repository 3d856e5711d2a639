"""The first steps of a run: which files there are, and their facts.

What goes wrong with one file becomes an error in the report, or a finding if it is no Python.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ferrule_lint.engine.state import Progress, Run
from ferrule_lint.extraction import Crashed, Unparsable, Unreadable, read_facts
from ferrule_lint.findings import Confidence, Finding, LintError, NotebookCells, Span
from ferrule_lint.project.cache import FOLDER, FactsCache
from ferrule_lint.project.config import ConfigError, Settings
from ferrule_lint.project.discovery import NOTEBOOK, discover
from ferrule_lint.project.nearest import Nearest, as_error
from ferrule_lint.project.selection import SYNTAX_ERROR, check_codes

if TYPE_CHECKING:
    from ferrule_lint.facts.outline import Facts


def started(
    paths: Sequence[Path | str],
    settings: Settings,
    use_cache: bool,
    progress: Progress | None,
    contents: Mapping[Path, bytes] | None,
) -> Run:
    """A run that knows its files, with the code of its notebooks; what the settings of its parts get wrong is noted."""
    contents = contents or {}
    discovery = discover(paths, settings, contents)
    folder = settings.cache_dir or discovery.root / FOLDER if use_cache else None
    given = {Path(os.path.relpath(path, discovery.root)).as_posix(): content for path, content in contents.items()}
    run = Run(discovery, FactsCache(folder) if folder is not None else None, progress or _silent, given)
    _convert_notebooks(run)
    _check_nearest(run, replace(settings, root=discovery.root))
    return run


def _silent(stage: str, done: int, total: int) -> None:
    pass


def _check_nearest(run: Run, settings: Settings) -> None:
    """Unknown codes in the settings files of parts of the project; who has read the run's own has checked them."""
    for own in Nearest(settings).among(run.discovery.report):
        from ferrule_lint.checks.build import NAMES

        try:
            check_codes(own, NAMES)
        except ConfigError as problem:
            run.errors.append(as_error(problem, run.discovery.root))


def _convert_notebooks(run: Run) -> None:
    """Their code stands in for the notebooks; those that are not in Python, or cannot be read, are set aside."""
    from ferrule_lint.frontend.errors import SourceError
    from ferrule_lint.frontend.notebook import read_notebook

    for path in [path for path in run.discovery.read if path.endswith(NOTEBOOK)]:
        try:
            given = run.contents.get(path)
            notebook = read_notebook((run.discovery.root / path).read_bytes() if given is None else given)
        except OSError as error:
            run.errors.append(LintError(path, 0, f"cannot be read: {error.strerror or error}"))
        except SourceError as error:
            run.findings.append(_syntax_error(path, error.line, error.message))
        else:
            if notebook is not None:
                run.contents[path] = notebook.source
                run.notebooks[path] = NotebookCells(notebook.cells, notebook.texts)


def read_all(run: Run, jobs: int) -> None:
    """Facts of all files of the project."""
    from ferrule_lint.facts.outline import with_outline

    reported = set(run.discovery.report)
    paths = [path for path in run.discovery.read if not path.endswith(NOTEBOOK) or path in run.notebooks]
    run.count("files_read", len(paths))
    outcomes: dict[str, Facts] = {}
    for done, (path, outcome) in enumerate(read_facts(run.discovery.root, paths, run.cache, jobs, run.contents)):
        run.progress("reading", done, len(paths))
        match outcome:
            case Crashed():
                run.errors.append(LintError(path, 0, outcome.message))
            case Unreadable() if path in reported:
                run.errors.append(LintError(path, 0, f"cannot be read: {outcome.reason}"))
            case Unreadable():
                run.count("unreadable_elsewhere")
            case Unparsable() if path in reported:
                run.findings.append(_syntax_error(path, outcome.line, outcome.message, outcome.column))
            case Unparsable():
                run.count("unparsable_elsewhere")
            case _:
                outcomes[path] = with_outline(outcome)
    if run.cache is not None and run.cache.hits < len(paths):
        run.cache.forget()
    # in one order, whatever the order they came in
    run.facts = {path: outcomes[path] for path in paths if path in outcomes}
    run.progress("reading", len(paths), len(paths))


def _syntax_error(path: str, line: int, message: str, column: int = 0) -> Finding:
    line, column = max(line, 1), max(column, 1)
    return Finding(
        code=SYNTAX_ERROR,
        name="syntax-error",
        severity="error",
        confidence=Confidence.HIGH,
        message=message,
        path=path,
        span=Span(line, column, line, column),
        anchor_text=message,
    )
