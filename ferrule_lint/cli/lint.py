"""`ferrule-lint [check] [PATHS]...`"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ferrule_lint.cli import fixing
from ferrule_lint.cli.baseline import baseline_options, check_options, with_baseline
from ferrule_lint.cli.changes import change_options, only_concerned, read_changes
from ferrule_lint.cli.completion import complete_codes, complete_path
from ferrule_lint.cli.failure import Failure
from ferrule_lint.cli.fixing import fix_options
from ferrule_lint.cli.hints import option_meant, with_hints
from ferrule_lint.cli.output import output_options, say_errors, write
from ferrule_lint.cli.processors import processors
from ferrule_lint.cli.settings import settings_of
from ferrule_lint.cli.stdin import from_stdin, stdin_option
from ferrule_lint.cli.suppressions import add_suppressions, check_suppressions, suppression_options, with_values

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: those of `project.presets`, which is not imported for `--help`
PRESETS = ("hf", "lightning", "megatron", "serving")
#: what a run counts besides the budgets that end something, which name themselves
_SAID = {
    "files_read": "read: {files} of the project",
    "cache_hits": "cached: {files}",
    "results_cached": "cached: the results, since nothing has changed",
    "unreadable_elsewhere": "not readable, and not among those to lint: {files}",
    "unparsable_elsewhere": "not Python, and not among those to lint: {files}",
    "fixes_dropped": "fixes that did not hold, and are not offered: {number}",
}

if TYPE_CHECKING:
    from ferrule_lint.engine import Fixed, Progress
    from ferrule_lint.findings import Finding, Report
    from ferrule_lint.project.config import Settings


def _words(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """What is between the commas of a list, or of several."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def _codes(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """`--select FER1,FER201 --select FER3`: the codes, in capitals; what has a hyphen is the name of a rule."""
    return tuple(word if "-" in word else word.upper() for word in _words(ctx, param, values))


def _code_option(name: str, text: str) -> Callable[[_Function], _Function]:
    return click.option(name, multiple=True, metavar="CODES", callback=_codes, help=text, shell_complete=complete_codes)


class _Check(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, with_values(args))
        except click.NoSuchOption as error:
            if hint := option_meant(error.option_name):
                raise click.UsageError(f"No such option '{error.option_name}': {hint}", ctx) from None
            raise


@click.command(cls=_Check, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, type=click.Path(path_type=str), shell_complete=complete_path)
@_code_option("--select", "Report only these rules: codes or beginnings of codes, with commas between.")
@_code_option("--ignore", "Do not report these rules.")
@_code_option("--extend-select", "Report these rules besides those that the settings select.")
@click.option(
    "--min-confidence",
    type=click.Choice(["low", "medium", "high"]),
    help="Report findings from this confidence on.  [default: medium]",
)
@output_options
@fix_options
@click.option("--statistics", is_flag=True, help="Show how often each rule was broken instead of the findings.")
@suppression_options
@baseline_options
@change_options
@stdin_option
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("--show-files", is_flag=True, help="List the files that would be reported on, and stop.")
@click.option("--show-settings", is_flag=True, help="Show the settings that would be used, and stop.")
@click.option(
    "--preset",
    type=click.Choice(PRESETS),
    help="Defaults for a kind of project, in place of the settings' own preset.",
)
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="Use the settings in this TOML file.")
@click.option("--isolated", is_flag=True, help="Read no settings file.")
@click.option(
    "--extend-exclude",
    multiple=True,
    metavar="PATTERNS",
    callback=_words,
    help="Do not look at these files and folders either: patterns as in .gitignore, with commas between.",
)
@click.option("--force-exclude", is_flag=True, help="Exclude files even if they are given by name.")
@click.option("--no-cache", is_flag=True, help="Neither use nor write the cache.")
@click.option("--cache-dir", type=click.Path(path_type=Path), metavar="FOLDER", help="Where the cache is kept.")
@click.option("-q", "--quiet", is_flag=True, help="Findings and errors only.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Say what was read, how long it took, and where the analysis was cut off."
)
@click.pass_context
def check(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    statistics: bool,
    exit_zero: bool,
    show_files: bool,
    show_settings: bool,
    no_cache: bool,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> None:
    """Lint files and folders (the default command)."""
    paths, contents = from_stdin(paths, options["stdin_filename"])
    check_suppressions(options["add_suppressions"], paths, from_stdin=bool(contents), diff=options["diff"])
    check_options(options)
    if contents and options["write_baseline"] and options["stdin_filename"] is None:
        raise click.UsageError("--write-baseline needs to know which file the standard input is: --stdin-filename")
    # projects are runs by themselves, each with its own settings, cache and baseline
    projects = [(group, settings_of(group, options)) for group in _by_project(paths)]
    settings = replace(projects[0][1], root=_common_root([one.root or Path.cwd() for _, one in projects]))
    if show_settings:
        from ferrule_lint.project.describe import describe

        click.echo("\n\n".join(describe(one) for _, one in projects))
        return
    if show_files:
        if not all([_show_files(group, one) for group, one in projects]):
            ctx.exit(2)
        return
    outcomes = [
        _one_project(group, own, contents, options, use_cache=not no_cache, quiet=quiet) for group, own in projects
    ]
    changed = any(has_changed for _, has_changed in outcomes)
    reports = [(report, own) for (report, _), (_, own) in zip(outcomes, projects, strict=True)]
    report = with_hints(_merged(reports, settings), paths)
    if options["add_suppressions"] is not None:
        reason = options["add_suppressions"]
        say_errors(report, settings)
        written = [add_suppressions(one, own.root or Path.cwd(), reason) for one, own in reports]
        ctx.exit(0 if all(written) and not report.errors else 2)
    unreported, found = 0, report
    if options["fix_only"]:
        unreported = len(report.findings)
        report = replace(report, findings=())
    if not options["diff"]:
        write(
            report,
            settings,
            options["output_file"],
            statistics=statistics,
            quiet=quiet,
            unreported=unreported,
            beside=bool(contents and (options["fix"] or options["fix_only"])),
        )
        if unreported and not report.fixed and not quiet:
            fixing.say_what_helps(found, settings)
    if verbose:
        for one, own in reports:
            _details(one, own)
    if report.errors:
        ctx.exit(2)
    left = report.findings and not options["diff"] and not exit_zero
    ctx.exit(1 if left or (changed and (options["diff"] or options["exit_non_zero_on_fix"])) else 0)


def _one_project(
    paths: tuple[str, ...],
    settings: Settings,
    contents: dict[Path, bytes],
    options: dict[str, Any],
    *,
    use_cache: bool,
    quiet: bool,
) -> tuple[Report, bool]:
    """The report of a run over `paths`, and whether fixes have changed something, or would."""
    # an editor shows one file; and what is written down is written for the files that are named
    elsewhere = not (contents or options["write_baseline"] or options["add_suppressions"] is not None)
    run = partial(_lint, paths, settings, elsewhere=elsewhere, use_cache=use_cache, quiet=quiet)
    changes = read_changes(settings, options, from_stdin=bool(contents))
    changed = False
    # what an editor asks about is not repaired because the settings say so of files
    asked = options["fix"] if contents else settings.fix
    if asked or options["fix_only"] or options["diff"]:
        if changes is not None:
            raise click.UsageError(
                "--since and --changed choose what is reported; they go neither with --fix nor --diff"
            )
        fixed = _fix(paths, settings, contents, options, elsewhere=elsewhere, use_cache=use_cache, quiet=quiet)
        changed = bool(fixed.repair.contents)
        if contents and not options["diff"]:
            report = fixing.hand_back(fixed, settings, contents, quiet=quiet)
        else:
            report = fixing.apply(fixed, settings, diff=options["diff"], quiet=quiet)
    else:
        report = run(contents)
    report = with_baseline(report, settings, options, quiet=quiet)
    if changes is not None:
        report = only_concerned(report, changes, run, settings.root or Path.cwd())
    return report, changed


def _by_project(paths: tuple[str, ...]) -> list[tuple[str, ...]]:
    if len(paths) < 2:
        return [paths]
    from ferrule_lint.project.discovery import by_project

    return [tuple(map(str, group)) for group in by_project(paths)]


def _common_root(roots: list[Path]) -> Path:
    if len(roots) == 1:
        return roots[0]
    from ferrule_lint.project.discovery import common_folder

    return common_folder(roots)


def _merged(reports: list[tuple[Report, Settings]], settings: Settings) -> Report:
    """One report of those of all projects, relative to the root of `settings`."""
    if len(reports) == 1:
        return reports[0][0]
    from ferrule_lint.merging import merged

    here = Path.cwd()
    return merged([(report, own.root or here) for report, own in reports], settings.root or here)


def _show_files(paths: tuple[str, ...], settings: Settings) -> bool:
    """List the files; whether all that was asked for could be."""
    from ferrule_lint.project.discovery import discover
    from ferrule_lint.reporters.paths import shown_path
    from ferrule_lint.reporters.text import visible

    discovery = discover(paths, settings)
    for path in discovery.report:
        click.echo(visible(shown_path(path, discovery.root, Path.cwd())))
    for error in discovery.errors:
        path = visible(shown_path(error.path, discovery.root, Path.cwd()))
        click.echo(f"error: {path}: {error.message}", err=True)
    return not discovery.errors


def _lint(
    paths: tuple[str, ...],
    settings: Settings,
    contents: dict[Path, bytes],
    *,
    elsewhere: bool,
    use_cache: bool,
    quiet: bool,
) -> Report:
    from ferrule_lint import engine

    with _run_of_the_engine(quiet) as progress:
        return engine.lint(
            paths,
            settings,
            use_cache=use_cache,
            jobs=processors(),
            progress=progress,
            contents=contents,
            elsewhere=elsewhere,
        )


def _fix(
    paths: tuple[str, ...],
    settings: Settings,
    contents: dict[Path, bytes],
    options: dict[str, Any],
    *,
    elsewhere: bool,
    use_cache: bool,
    quiet: bool,
) -> Fixed:
    from ferrule_lint import engine

    def accepted(report: Report) -> Iterable[Finding]:
        """What the baseline has: known, and left as it is."""
        reading = {**options, "write_baseline": False, "prune_baseline": False}
        return with_baseline(report, settings, reading, quiet=True).suppressed

    with _run_of_the_engine(quiet) as progress:
        return engine.fix(
            paths,
            settings,
            use_cache=use_cache,
            jobs=processors(),
            progress=progress,
            contents=contents,
            accepted=accepted,
            elsewhere=elsewhere,
        )


@contextmanager
def _run_of_the_engine(quiet: bool) -> Iterator[Progress | None]:
    """What shows the progress of a run, on a terminal; a broken model file makes the command fail."""
    from ferrule_lint.cli.progress import progress_bar
    from ferrule_lint.models.loader import ModelError

    try:
        with progress_bar(enabled=not quiet and sys.stderr.isatty()) as progress:
            yield progress
    except ModelError as error:
        raise Failure(error.message, error.path, error.line) from None


def _details(report: Report, settings: Settings) -> None:
    click.echo(f"project root: {settings.root}", err=True)
    click.echo(f"settings: {settings.source or 'defaults'}", err=True)
    click.echo(f"linted: {_files(report.files)}, {report.lines:,} lines, in {report.seconds:.2f} s", err=True)
    for name, number in sorted(report.statistics.items()):
        if number:
            said = _SAID.get(name, f"cut off: {name} (budget, {number} times)")
            click.echo(said.format(files=_files(number), number=number), err=True)


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number:,} files"
