"""`--baseline`, `--write-baseline`, `--prune-baseline` and `--no-baseline`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ferrule_lint.cli.failure import Failure

if TYPE_CHECKING:
    from ferrule_lint.baseline import Entry
    from ferrule_lint.findings import Report
    from ferrule_lint.project.config import Settings

_Function = TypeVar("_Function", bound=Callable[..., Any])


def baseline_options(function: _Function) -> _Function:
    """The options about the baseline."""
    for option in (
        click.option("--no-baseline", is_flag=True, help="Report what the baseline has, too."),
        click.option("--prune-baseline", is_flag=True, help="Drop the entries that match nothing any more."),
        click.option("--write-baseline", is_flag=True, help="Write all that is found into the baseline, and stop."),
        click.option(
            "--baseline",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Report only what this file does not have.  [default: .ferrule-baseline.json, if it is there]",
        ),
    ):
        function = option(function)
    return function


#: the options as they are if nobody has given any
NOTHING_SAID: dict[str, Any] = {
    "baseline": None, "no_baseline": False, "write_baseline": False, "prune_baseline": False,
}  # fmt: skip


def check_options(options: dict[str, Any]) -> None:
    """UsageError for options that contradict each other."""
    if options["no_baseline"] and (options["baseline"] or options["write_baseline"] or options["prune_baseline"]):
        raise click.UsageError("--no-baseline contradicts the other options about the baseline")
    if options["write_baseline"] and options["add_suppressions"] is not None:
        raise click.UsageError("--write-baseline and --add-suppressions contradict each other")


def with_baseline(report: Report, settings: Settings, options: dict[str, Any], *, quiet: bool) -> Report:
    """The report less what the baseline has, which has everything if it was written just now."""
    from ferrule_lint import baseline
    from ferrule_lint.project.selection import Selection

    if options["no_baseline"]:
        return report
    root = settings.root or Path.cwd()
    path, wanted = _path(options["baseline"], settings, root)
    present = os.path.exists(path)
    if not present and not options["write_baseline"]:
        if wanted or options["prune_baseline"]:
            raise Failure("there is no such baseline; --write-baseline makes one", str(path))
        return report
    selection = Selection(settings)
    linted = frozenset(report.paths)

    def judged(entry: Entry) -> bool:
        """Whether this run would have found it."""
        seen = entry.path in linted or _is_gone(root / entry.path)
        certain = entry.confidence >= selection.nearest.of(entry.path).min_confidence
        return seen and certain and selection.looks_for(entry.code, entry.path)

    try:
        entries = baseline.load(path) if present else ()
    except baseline.BaselineError as error:
        if not options["write_baseline"]:
            raise Failure(str(error), str(path)) from None
        # it is about to be replaced
        entries = ()
    if options["write_baseline"]:
        kept = [entry for entry in entries if not judged(entry)]
        entries = (*kept, *baseline.entries_of(report.findings))
        _save(path, entries)
        if not quiet:
            number = len(report.findings)
            click.echo(f"Wrote {number} {'finding' if number == 1 else 'findings'} to {_shown(path)}.", err=True)
    outcome = baseline.apply(report, entries, judged, _shown(path))
    if outcome.stale:
        number = sum(entry.count for entry in outcome.stale)
        what = f"{number} {'entry' if number == 1 else 'entries'} of {_shown(path)}"
        matches, them = ("matches", "it") if number == 1 else ("match", "them")
        if options["prune_baseline"]:
            _save(path, baseline.without(entries, outcome.stale))
            message = f"Dropped {what}."
        else:
            message = f"{what} {matches} nothing any more; --prune-baseline drops {them}."
        if not quiet:
            click.echo(message, err=True)
    return outcome.report


def _path(option: Path | None, settings: Settings, root: Path) -> tuple[Path, bool]:
    """Where the baseline is, and whether somebody has said so."""
    from ferrule_lint.baseline import FILE

    said = option or settings.baseline
    return (said.absolute(), True) if said else (root / FILE, False)


def _is_gone(path: Path) -> bool:
    """Whether there is certainly no such file: one in a folder that may not be read may be there."""
    try:
        path.stat()
    except OSError as error:
        return not isinstance(error, PermissionError)
    return False


def _shown(path: Path) -> str:
    from ferrule_lint.reporters.paths import shown_path

    return shown_path(str(path), Path.cwd(), Path.cwd())


def _save(path: Path, entries: tuple[Entry, ...]) -> None:
    from ferrule_lint.baseline import dump
    from ferrule_lint.project.files import replace_file

    try:
        replace_file(path, dump(entries))
    except OSError as error:
        raise Failure(f"cannot be written: {error.strerror or error}", str(path)) from None
