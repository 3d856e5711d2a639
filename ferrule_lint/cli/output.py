"""`--output-format`, `--output-file`, and where the report goes."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ferrule_lint.cli.failure import Failure

if TYPE_CHECKING:
    from ferrule_lint.findings import Report
    from ferrule_lint.project.config import Settings

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: those of `reporters.formats`, which is not imported for `--help`
FORMATS = (
    "full", "concise", "grouped",
    "json", "json-lines", "sarif", "github", "gitlab", "junit", "azure", "pylint", "rdjson", "html",
)  # fmt: skip


def output_options(function: _Function) -> _Function:
    """The options about the form of the report."""
    function = click.option(
        "-o", "--output-file", type=click.Path(path_type=Path), metavar="FILE", help="Write the report to FILE."
    )(function)
    return click.option("--output-format", type=click.Choice(FORMATS), help="[default: full]")(function)


def write(
    report: Report,
    settings: Settings,
    file: Path | None,
    *,
    statistics: bool,
    quiet: bool,
    unreported: int = 0,
    beside: bool = False,
) -> None:
    """The report to `file` or to the standard output, or to the standard error (`beside` something else on the output).

    `unreported` findings are left that it does not have.
    """
    from ferrule_lint.reporters import text
    from ferrule_lint.reporters.cells import at_top, by_cell
    from ferrule_lint.reporters.formats import DOCUMENTS, KNOWING_CELLS

    report = by_cell(report) if settings.output_format in KNOWING_CELLS else at_top(report)
    if settings.output_format in DOCUMENTS:
        content = _document(report, settings, statistics=statistics)
    else:
        lines = list(_lines(report, settings, statistics=statistics, quiet=quiet, unreported=unreported))
        if not lines and file is None:
            return
        stream = sys.stderr if beside else sys.stdout
        colour = text.wants_colour(stream) if file is None else _forced()
        content = text.render(lines, colour=colour, links=file is None and text.wants_links(stream))
    if file is None:
        # click strips colours by its own rules; which apply was decided above
        if content or settings.output_format not in DOCUMENTS:
            try:
                click.echo(content, color=True, err=beside)
            except OSError as error:
                if error.errno == errno.EPIPE:  # whoever reads it has seen enough, which click deals with
                    raise
                raise Failure(f"the report cannot be written: {error.strerror or error}") from None
        return
    _save(file, content)


def say_errors(report: Report, settings: Settings) -> None:
    """What could not be checked, on the standard error: for runs that write no report."""
    from ferrule_lint.reporters import concise, text

    root, cwd = settings.root or Path.cwd(), Path.cwd()
    if report.errors:
        click.echo(text.plain(concise.error_lines(report, root, cwd)), err=True)


def _document(report: Report, settings: Settings, *, statistics: bool) -> str:
    from ferrule_lint.reporters import formats
    from ferrule_lint.reporters import statistics as counts

    root, cwd = settings.root or Path.cwd(), Path.cwd()
    name = settings.output_format
    if statistics:
        if name != "json":
            raise click.UsageError(f"--statistics can be written as {', '.join(formats.TEXTS)} and json, not {name}")
        return counts.render(report)
    if name in formats.WITHOUT_ERRORS:
        say_errors(report, settings)
    return formats.document(name, report, root, cwd)


def _lines(report: Report, settings: Settings, *, statistics: bool, quiet: bool, unreported: int) -> list[Any]:
    from ferrule_lint.reporters import concise, formats, premises
    from ferrule_lint.reporters import statistics as counts

    root, cwd = settings.root or Path.cwd(), Path.cwd()
    if statistics:
        counted = [*counts.lines(report), *concise.error_lines(report, root, cwd)]
        # an empty table says nothing of what has been looked at
        return counted if quiet or report.findings else [*counted, *concise.summary(report, unreported=unreported)]
    unsafe = settings.unsafe_fixes
    lines = list(formats.lines(settings.output_format, report, root, cwd, unsafe=unsafe))
    if quiet:
        return lines
    with_help = settings.output_format == "full"
    shared = premises.lines(report.findings, root, cwd)
    return [
        *lines,
        *concise.summary(report, unreported=unreported, unsafe=unsafe, with_help=with_help, shared=shared),
    ]


def _forced() -> bool:
    """Whether even a file is to be coloured."""
    return not os.environ.get("NO_COLOR") and os.environ.get("FORCE_COLOR", "0") not in ("", "0")


def _save(file: Path, content: str) -> None:
    from ferrule_lint.project.files import replace_file

    text = content + "\n" if content else ""
    try:
        if file.exists() and not file.is_file():
            # a device or a pipe
            file.write_text(text, encoding="utf-8", errors="backslashreplace")
        else:
            replace_file(file, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise Failure(f"cannot be written: {error.strerror or error}", str(file)) from None
