"""`ferrule-lint [check] [PATHS]...`"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
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
from ferrule_lint.cli.output import output_options, write
from ferrule_lint.cli.rules import load_rules
from ferrule_lint.cli.stdin import from_stdin, stdin_option
from ferrule_lint.cli.suppressions import add_suppressions, suppression_options, with_values

_Function = TypeVar("_Function", bound=Callable[..., Any])

if TYPE_CHECKING:
    from ferrule_lint.engine import Fixed
    from ferrule_lint.findings import Finding, Report
    from ferrule_lint.project.config import Settings


def _codes(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """`--select FER1,FER201 --select FER3`: the codes, in capitals."""
    return tuple(code.strip().upper() for value in values for code in value.split(",") if code.strip())


def _code_option(name: str, text: str) -> Callable[[_Function], _Function]:
    return click.option(name, multiple=True, metavar="CODES", callback=_codes, help=text, shell_complete=complete_codes)


class _Check(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_values(args))


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
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="Use the settings in this TOML file.")
@click.option("--isolated", is_flag=True, help="Read no settings file.")
@click.option("--force-exclude", is_flag=True, help="Exclude files even if they are given by name.")
@click.option("--no-cache", is_flag=True, help="Neither use nor write the cache.")
@click.option("--cache-dir", type=click.Path(path_type=Path), metavar="FOLDER", help="Where the cache is kept.")
@click.option("-q", "--quiet", is_flag=True, help="Findings and errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Say what was read, and how long it took.")
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
    if contents and options["add_suppressions"] is not None:
        raise click.UsageError("--add-suppressions writes files, so it cannot be used with the standard input")
    check_options(options)
    settings = _settings(paths, options)
    if show_settings:
        from ferrule_lint.project.describe import describe

        click.echo(describe(settings))
        return
    if show_files:
        _show_files(paths, settings)
        return
    run = partial(_lint, paths, settings, use_cache=not no_cache, quiet=quiet)
    changes = read_changes(settings, options, from_stdin=bool(contents))
    changed = False
    if settings.fix or options["fix_only"] or options["diff"]:
        if contents and not options["diff"]:
            raise click.UsageError("--fix writes files, so it cannot be used with the standard input; --diff can")
        if changes is not None:
            raise click.UsageError(
                "--since and --changed choose what is reported; they go neither with --fix nor --diff"
            )
        fixed = _fix(paths, settings, contents, options, use_cache=not no_cache, quiet=quiet)
        changed = bool(fixed.repair.contents)
        report = fixing.apply(fixed, settings, diff=options["diff"], quiet=quiet)
    else:
        report = run(contents)
    report = with_baseline(report, settings, options, quiet=quiet)
    if changes is not None:
        report = only_concerned(report, changes, run, settings.root or Path.cwd())
    if options["add_suppressions"] is not None:
        written = add_suppressions(report, settings.root or Path.cwd(), options["add_suppressions"])
        ctx.exit(0 if written and not report.errors else 2)
    if options["fix_only"]:
        report = replace(report, findings=())
    if not options["diff"]:
        write(report, settings, options["output_file"], statistics=statistics, quiet=quiet)
    if verbose:
        _details(report, settings)
    if report.errors:
        ctx.exit(2)
    left = report.findings and not options["diff"] and not exit_zero
    ctx.exit(1 if left or (changed and (options["diff"] or options["exit_non_zero_on_fix"])) else 0)


def _settings(paths: tuple[str, ...], options: dict[str, Any]) -> Settings:
    """The settings of the project, with what the command line says instead."""
    from ferrule_lint.findings import Confidence
    from ferrule_lint.project.config import ConfigError, load_settings
    from ferrule_lint.project.discovery import find_root
    from ferrule_lint.project.selection import check_codes

    if options["config"] is not None and options["isolated"]:
        raise click.UsageError("--config and --isolated contradict each other")
    try:
        root = find_root(paths)
        start = Path(paths[0]) if paths else Path.cwd()
        settings = load_settings(start, config=options["config"], isolated=options["isolated"])
        changes: dict[str, Any] = {"root": root}
        if options["select"]:
            # a selection on the command line starts anew, as in ruff
            changes |= {"select": options["select"], "ignore": (), "extend_select": ()}
        ignore = (*changes.get("ignore", settings.ignore), *options["ignore"])
        extend = (*changes.get("extend_select", settings.extend_select), *options["extend_select"])
        changes |= {"ignore": ignore, "extend_select": extend}
        if options["min_confidence"]:
            changes["min_confidence"] = Confidence.parse(options["min_confidence"])
            # more specific than what a file says of one rule
            changes["rules"] = tuple((code, replace(rule, min_confidence=None)) for code, rule in settings.rules)
        if options["output_format"]:
            changes["output_format"] = options["output_format"]
        if options["cache_dir"]:
            changes["cache_dir"] = options["cache_dir"].absolute()
        for switch in ("force_exclude", "ignore_suppressions"):
            if options[switch]:
                changes[switch] = True
        changes |= {name: options[name] for name in ("fix", "unsafe_fixes") if options[name] is not None}
        settings = replace(settings, **changes)
        check_codes(settings, load_rules())
    except ConfigError as error:
        raise Failure(error.message, error.path, error.line) from None
    return settings


def _show_files(paths: tuple[str, ...], settings: Settings) -> None:
    from ferrule_lint.project.discovery import discover
    from ferrule_lint.reporters.paths import shown_path
    from ferrule_lint.reporters.text import visible

    discovery = discover(paths, settings)
    for path in discovery.report:
        click.echo(visible(shown_path(path, discovery.root, Path.cwd())))
    for error in discovery.errors:
        path = visible(shown_path(error.path, discovery.root, Path.cwd()))
        click.echo(f"error: {path}: {error.message}", err=True)
    if discovery.errors:
        click.get_current_context().exit(2)


def _lint(
    paths: tuple[str, ...], settings: Settings, contents: dict[Path, bytes], *, use_cache: bool, quiet: bool
) -> Report:
    from ferrule_lint import engine
    from ferrule_lint.cli.progress import progress_bar
    from ferrule_lint.models.loader import ModelError

    try:
        with progress_bar(enabled=not quiet and sys.stderr.isatty()) as progress:
            return engine.lint(
                paths, settings, use_cache=use_cache, jobs=_processors(), progress=progress, contents=contents
            )
    except ModelError as error:
        raise Failure(error.message, error.path, error.line) from None


def _fix(
    paths: tuple[str, ...],
    settings: Settings,
    contents: dict[Path, bytes],
    options: dict[str, Any],
    *,
    use_cache: bool,
    quiet: bool,
) -> Fixed:
    from ferrule_lint import engine
    from ferrule_lint.cli.progress import progress_bar
    from ferrule_lint.models.loader import ModelError

    def accepted(report: Report) -> Iterable[Finding]:
        """What the baseline has: known, and left as it is."""
        reading = {**options, "write_baseline": False, "prune_baseline": False}
        return with_baseline(report, settings, reading, quiet=True).suppressed

    try:
        with progress_bar(enabled=not quiet and sys.stderr.isatty()) as progress:
            return engine.fix(
                paths,
                settings,
                use_cache=use_cache,
                jobs=_processors(),
                progress=progress,
                contents=contents,
                accepted=accepted,
            )
    except ModelError as error:
        raise Failure(error.message, error.path, error.line) from None


def _processors() -> int:
    """How many processors this process may use; no more than pay."""
    try:
        return min(len(os.sched_getaffinity(0)), 8)
    except AttributeError:
        # not on this system
        return min(os.cpu_count() or 1, 8)


def _details(report: Report, settings: Settings) -> None:
    click.echo(f"project root: {settings.root}", err=True)
    click.echo(f"settings: {settings.source or 'defaults'}", err=True)
    click.echo(f"{report.files} files, {report.lines} lines, {report.seconds:.2f} s", err=True)
    for name, number in sorted(report.statistics.items()):
        click.echo(f"{name}: {number}", err=True)
