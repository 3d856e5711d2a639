"""`--since REV` and `--changed`: only what a change brings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ferrule_lint.cli.failure import Failure

if TYPE_CHECKING:
    from ferrule_lint.findings import Report
    from ferrule_lint.project.changes import Changes
    from ferrule_lint.project.config import Settings

_Function = TypeVar("_Function", bound=Callable[..., Any])


def change_options(function: _Function) -> _Function:
    """The options about changed lines."""
    function = click.option(
        "--changed", is_flag=True, help="As --since, for what is not committed yet, new files included."
    )(function)
    return click.option(
        "--since", metavar="REV", help="Report only findings in lines that changed since REV, or caused by them."
    )(function)


def read_changes(settings: Settings, options: dict[str, Any], *, from_stdin: bool) -> Changes | None:
    """What has changed, if that matters."""
    if options["since"] is None and not options["changed"]:
        return None
    if options["since"] is not None and options["changed"]:
        raise click.UsageError("--since and --changed contradict each other")
    if options["write_baseline"] or from_stdin:
        raise click.UsageError("--since and --changed go neither with --write-baseline nor with the standard input")
    from ferrule_lint.project.changes import ChangesError, changes_since

    try:
        return changes_since(settings.root or Path.cwd(), options["since"])
    except ChangesError as error:
        raise Failure(str(error)) from None


def only_concerned(report: Report, changes: Changes, lint: Callable[[dict[Path, bytes]], Report], root: Path) -> Report:
    """The report less what the change has nothing to do with; `lint` checks other contents of files."""
    from ferrule_lint.project.changes import concerned

    if not report.findings:
        return report
    before = lint({root / path: content for path, content in changes.before.items()})
    return concerned(report, changes, (*before.findings, *before.suppressed))
