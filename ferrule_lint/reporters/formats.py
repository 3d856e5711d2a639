"""The output formats by name. Each is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from ferrule_lint.findings import Report
from ferrule_lint.reporters.paths import relocated
from ferrule_lint.reporters.text import Line

#: for people: lines with styles
TEXTS = ("full", "concise", "grouped")
#: for programs: one text, never coloured
DOCUMENTS = ("json", "json-lines", "sarif", "github", "gitlab", "junit", "azure", "pylint", "rdjson", "html")
#: formats that show findings in notebooks by their cells
KNOWING_CELLS = (*TEXTS, "json", "json-lines", "html")
#: documents that have no place for what could not be checked
WITHOUT_ERRORS = ("json-lines", "pylint")
#: documents that take no folders: they are given paths relative to the current one
_PLAIN = ("json", "json-lines")


def lines(name: str, report: Report, root: Path, cwd: Path, *, unsafe: bool = False) -> Iterable[Line]:
    """The report in one of the formats for people. `unsafe`: `--fix` would apply fixes that rest on assumptions."""
    made: Iterable[Line] = import_module(f"ferrule_lint.reporters.{name}").lines(report, root, cwd, unsafe=unsafe)
    return made


def document(name: str, report: Report, root: Path, cwd: Path) -> str:
    """The report in one of the formats for programs; it may be empty."""
    module = import_module(f"ferrule_lint.reporters.{name.replace('-', '_')}")
    text: str = module.render(relocated(report, root, cwd)) if name in _PLAIN else module.render(report, root, cwd)
    return text
