"""`--fix` and its relatives: what was repaired in memory is written, or shown as a diff."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ferrule_lint.engine import Fixed
    from ferrule_lint.findings import Report
    from ferrule_lint.project.config import Settings


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


def diff(fixed: Fixed) -> str:
    """The changes as one unified diff."""
    from ferrule_lint.reporters.patch import unified

    changes = sorted(fixed.repair.contents.items())
    return "".join(unified(path, fixed.before[path], new) for path, new in changes)


def say_dropped(fixed: Fixed) -> None:
    """Fixes that did not hold, and why: what is left is left for a reason."""
    for dropped in fixed.repair.dropped:
        finding = dropped.finding
        form = finding.fix.form if finding.fix is not None else "fix"
        place = f"{finding.path}:{finding.span.line}:{finding.span.column}"
        click.echo(f"{place}: {finding.code} not fixed ({form}): {dropped.reason}", err=True)
