"""Paths that are not there because something else was meant: a command of another tool, a code, a line; and options of
other tools."""

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
#: what other linters do, and where it is here
_ELSEWHERE = {"format": "nothing is formatted here, `ferrule-lint --fix` repairs what is found"}
#: ruff's options, and what is there instead
_OPTIONS = {
    "--add-noqa": "`--add-suppressions` writes comments",
    "--ignore-noqa": "`--ignore-suppressions` reports what comments suppress",
    "--exclude": "`--extend-exclude` adds to what is excluded, and `exclude` is a setting",
    "--extend-ignore": "`--ignore` leaves out rules, and `ignore` is a setting",
    "--per-file-ignores": "it is a setting",
    "--extend-per-file-ignores": "`per-file-ignores` is a setting",
    "--respect-gitignore": "it is a setting",
    "--no-respect-gitignore": "`respect-gitignore` is a setting",
    "--show-fixes": "`--diff` shows what `--fix` would change",
    "--show-source": "`--output-format full` shows the lines",
    "--watch": "`ferrule-lint server` checks what an editor has open",
}
_OWN = ("check", "clean", "completion", "config", "explain", "rules", "server", "trace", "triage", "why")
_WORD = re.compile(r"[a-z]+")
_CODE = re.compile(r"FER[0-9]*", re.IGNORECASE)
_LINE = re.compile(r"(?P<path>.+\.(?:py|ipynb))(?P<cell>:cell [0-9]+)?:(?P<line>[0-9]+)(?::[0-9]+)?:?")


def with_hints(report: Report, paths: Sequence[str]) -> Report:
    """`report` with what may have been meant by each of the `paths` that are not there."""
    if not report.errors:
        return report
    # behind another tool's word for a command stands what that command would take
    words = [path for path in paths if not os.path.exists(path) and _command(path)]
    hints = {Path(path).name: hint for path in words or paths if (hint := meant(path))}

    def hinted(error: LintError) -> LintError:
        hint = "" if error.line else hints.get(Path(error.path).name, "")
        return replace(error, message=f"{error.message}; {hint}") if hint else error

    return replace(report, errors=tuple(map(hinted, report.errors)))


def meant(path: str) -> str:
    """What may have been meant by a path, if there is no such file or folder; "" if nothing else comes to mind."""
    if os.path.exists(path):
        return ""
    if hint := _command(path):
        return hint
    if _CODE.fullmatch(path):
        return "codes are separated by commas: `--select FER102,FER103`"
    line = _LINE.fullmatch(path)
    if line and os.path.exists(line["path"]):
        place = shlex.quote(f"{line['path']}{line['cell'] or ''}:{line['line']}")
        return f"`ferrule-lint why {place}` says what is known of a line"
    return ""


def _command(word: str) -> str:
    """What may have been meant by a word for a command."""
    from difflib import get_close_matches

    if word in _ELSEWHERE:
        return _ELSEWHERE[word]
    if not _WORD.fullmatch(word):
        return ""
    near = [_COMMANDS[word]] if word in _COMMANDS else get_close_matches(word, _OWN, n=1, cutoff=0.7)
    return f"did you mean `ferrule-lint {near[0]}`?" if near else ""


def option_meant(name: str) -> str:
    """What is there instead of an option of another linter; "" for any other."""
    return _OPTIONS.get(name, "")
