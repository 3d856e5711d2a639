"""`--fix` and its relatives: what was repaired in memory is written, or shown as a diff."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])

if TYPE_CHECKING:
    from ferrule_lint.engine import Fixed
    from ferrule_lint.findings import Report
    from ferrule_lint.project.config import Settings


def fix_options(function: _Function) -> _Function:
    """What is said of fixes on the command line."""
    options = (
        click.option("--fix/--no-fix", default=None, help="Repair what can be repaired for certain."),
        click.option(
            "--unsafe-fixes/--no-unsafe-fixes", default=None, help="Let --fix rest on assumptions, which it states."
        ),
        click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing."),
        click.option("--fix-only", is_flag=True, help="Repair, and do not report what is left."),
        click.option(
            "--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 if a file was changed, even if nothing is left."
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def apply(fixed: Fixed, settings: Settings, *, diff: bool, quiet: bool) -> Report:
    """Write the fixes, or show them; the report of what is left."""
    from ferrule_lint.reporters import concise, patch, text

    if not quiet:
        say_dropped(fixed)
    if not diff:
        return write(fixed, settings)
    report = fixed.report
    root, cwd = settings.root or Path.cwd(), Path.cwd()
    changes = diff_of(fixed)
    if changes and text.wants_colour(sys.stdout):
        click.echo(text.coloured(patch.styled(changes)), color=True)
    elif changes:
        click.echo(changes, nl=False)
    for line in concise.error_lines(report, root, cwd):
        click.echo("".join(part for part, _ in line), err=True)
    if not quiet:
        number = len(fixed.repair.applied)
        click.echo(f"Would fix {number} problem{'' if number == 1 else 's'}, {len(report.findings)} left.", err=True)
        if not number:
            say_what_helps(report, settings)
    return report


def write(fixed: Fixed, settings: Settings) -> Report:
    """Write the changed files; the report of what is left. A file that could not be written is an error in it."""
    from ferrule_lint.findings import LintError
    from ferrule_lint.fixes.write import NotWritten
    from ferrule_lint.fixes.write import write as write_file

    root = settings.root or Path.cwd()
    errors: list[LintError] = []
    for path, new in sorted(fixed.repair.contents.items()):
        try:
            write_file(root / path, fixed.before[path], new)
        except NotWritten as error:
            errors.append(LintError(path, 0, f"not fixed: {error}"))
    failed = {error.path for error in errors}
    count = sum(finding.path not in failed for finding in fixed.repair.applied)
    return replace(fixed.report, errors=(*fixed.report.errors, *errors), fixed=count)


def hand_back(fixed: Fixed, settings: Settings, contents: dict[Path, bytes], *, quiet: bool) -> Report:
    """Write the repaired text of the standard input to the standard output; the report of what is left."""
    if not quiet:
        say_dropped(fixed)
    for path, content in contents.items():
        name = Path(os.path.relpath(path, settings.root or Path.cwd())).as_posix()
        click.echo(fixed.repair.contents.get(name, content), nl=False)
    return replace(fixed.report, fixed=len(fixed.repair.applied))


def diff_of(fixed: Fixed) -> str:
    """The changes as one unified diff."""
    from ferrule_lint.reporters.patch import unified

    changes = sorted(fixed.repair.contents.items())
    return "".join(unified(path, fixed.before[path], new) for path, new in changes)


def say_what_helps(report: Report, settings: Settings) -> None:
    """Where to read on about what is left, if nothing could be fixed: the report that says so is not written."""
    from ferrule_lint.reporters import concise

    if settings.output_format == "full":
        for line in concise.what_helps(report, unsafe=settings.unsafe_fixes):
            click.echo("".join(part for part, _ in line), err=True)


def say_dropped(fixed: Fixed) -> None:
    """Fixes that did not hold, and why: what is left is left for a reason."""
    for dropped in fixed.repair.dropped:
        finding = dropped.finding
        form = finding.fix.form if finding.fix is not None else "fix"
        place = f"{finding.path}:{finding.span.line}:{finding.span.column}"
        click.echo(f"{place}: {finding.code} not fixed ({form}): {dropped.reason}", err=True)
