"""Paths that are not there because something else was meant: a command of another tool, a code, a line."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrule_lint.findings import LintError, Report

#: words that other linters have for commands, and the ones here
_COMMANDS = {
    "rule": "explain",
    "lint": "check",
    "linter": "rules",
    "help": "--help",
    "version": "--version",
    "lsp": "server",
    "run": "trace",
}
_CODE = re.compile(r"FER[0-9]*", re.IGNORECASE)
_LINE = re.compile(r"(?P<path>.+\.(?:py|ipynb))(?P<cell>:cell [0-9]+)?:(?P<line>[0-9]+)(?::[0-9]+)?:?")


def with_hints(report: Report, paths: Sequence[str]) -> Report:
    """`report` with what may have been meant by each of the `paths` that are not there."""
    if not report.errors:
        return report
    # behind another tool's word for a command stands what that command would take
    words = [path for path in paths if path in _COMMANDS and not os.path.exists(path)]
    hints = {Path(path).name: hint for path in words or paths if (hint := meant(path))}

    def hinted(error: LintError) -> LintError:
        hint = "" if error.line else hints.get(Path(error.path).name, "")
        return replace(error, message=f"{error.message}; {hint}") if hint else error

    return replace(report, errors=tuple(map(hinted, report.errors)))


def meant(path: str) -> str:
    """What may have been meant by a path, if there is no such file or folder; "" if nothing else comes to mind."""
    if os.path.exists(path):
        return ""
    if path in _COMMANDS:
        return f"did you mean `ferrule-lint {_COMMANDS[path]}`?"
    if _CODE.fullmatch(path):
        return "codes are separated by commas: `--select FER102,FER103`"
    line = _LINE.fullmatch(path)
    if line and os.path.exists(line["path"]):
        place = shlex.quote(f"{line['path']}{line['cell'] or ''}:{line['line']}")
        return f"`ferrule-lint why {place}` says what is known of a line"
    return ""
