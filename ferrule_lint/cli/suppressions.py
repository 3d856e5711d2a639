"""`--add-suppressions[=REASON]` and `--ignore-suppressions`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ferrule_lint.findings import Report

_Function = TypeVar("_Function", bound=Callable[..., Any])

_ADD = "--add-suppressions"


def suppression_options(function: _Function) -> _Function:
    """The options about suppression comments."""
    function = click.option(
        "--ignore-suppressions", is_flag=True, help="Report what comments suppress, and not the comments."
    )(function)
    return click.option(
        _ADD,
        metavar="[=REASON]",
        help="Write a suppression comment for each finding into the files instead of reporting it.",
    )(function)


def with_values(args: Sequence[str]) -> list[str]:
    """`args` with an empty value for an option whose value may be left out: it is given behind `=` only."""
    options = args if "--" not in args else args[: args.index("--")]
    return [*(f"{arg}=" if arg == _ADD else arg for arg in options), *args[len(options) :]]


def check_suppressions(reason: str | None, paths: Sequence[str], *, from_stdin: bool, diff: bool) -> None:
    """UsageError where `--add-suppressions` cannot be meant as it is given; `reason` None: it is not given."""
    if reason is None:
        return
    if from_stdin:
        raise click.UsageError(f"{_ADD} writes files, so it cannot be used with the standard input")
    if diff:
        raise click.UsageError(f"{_ADD} writes files, and --diff changes none")
    missing = [path for path in paths if not os.path.exists(path)]
    if missing and not reason:
        # files would be written with the reason left out
        raise click.UsageError(
            f"there is no file or folder {missing[0]!r}; if it is the reason, write {_ADD}={shlex.quote(missing[0])}"
        )


def add_suppressions(report: Report, root: Path, reason: str) -> bool:
    """Write the comments and say how many; whether all went well."""
    from ferrule_lint.project.files import replace_file
    from ferrule_lint.project.selection import SYNTAX_ERROR, UNUSED_SUPPRESSION
    from ferrule_lint.reporters.paths import shown_path
    from ferrule_lint.reporters.text import visible
    from ferrule_lint.suppressions.insert import CannotInsert, insert

    by_path: dict[str, list[Any]] = {}
    for finding in report.findings:
        if finding.code not in (SYNTAX_ERROR, UNUSED_SUPPRESSION):
            by_path.setdefault(finding.path, []).append(finding)
    added = changed = 0
    good = True
    for path, findings in by_path.items():
        try:
            if path in report.notebooks:
                raise CannotInsert("comments cannot be written into notebooks")
            source = (root / path).read_bytes()
            new = insert(source, findings, " ".join(reason.split()))
            if new != source:
                replace_file(root / path, new)
                added += len(findings)
                changed += 1
        except (OSError, CannotInsert) as error:
            good = False
            message = error.strerror if isinstance(error, OSError) else str(error)
            click.echo(f"error: {visible(shown_path(path, root, Path.cwd()))}: {message}", err=True)
    files = "file" if changed == 1 else "files"
    findings_word = "finding" if added == 1 else "findings"
    click.echo(f"Suppressed {added} {findings_word} in {changed} {files}.")
    return good
