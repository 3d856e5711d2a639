"""The command `ferrule-lint`: what is typed becomes a command, what goes wrong becomes an exit code.

Nothing heavier than click is imported here: `--help` and `--version` come at once.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Sequence

import click

import ferrule_lint
from ferrule_lint.cli.clean import clean
from ferrule_lint.cli.completion import completion
from ferrule_lint.cli.config import config
from ferrule_lint.cli.lint import check
from ferrule_lint.cli.rules import explain, rules
from ferrule_lint.cli.server import server
from ferrule_lint.cli.trace import trace
from ferrule_lint.cli.triage import triage
from ferrule_lint.cli.why import why

#: it could not run, or not over everything
FAILURE = 2
INTERRUPTED = 130


class _Group(click.Group):
    """A group whose command `check` need not be named: `ferrule-lint src` is `ferrule-lint check src`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = ("-h", "--help", "--version")
        if not args or args[0] not in (*self.commands, *own):
            args = ["check", *self._without_command(ctx, args)]
        return super().parse_args(ctx, args)

    def _without_command(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`args` without a `check` behind options; another command there is an error, not a path.

        A folder of that name is written `./rules`, or `check ./rules`.
        """
        context = check.make_context("check", list(args), parent=ctx, resilient_parsing=True)
        paths: tuple[str, ...] = context.params.get("paths") or ()
        if not paths or paths[0] not in self.commands:
            return args
        if paths[0] != "check":
            raise click.UsageError(
                f"the command '{paths[0]}' comes before options; if you mean the path, write './{paths[0]}'"
            )
        place = args.index("check")
        return [*args[:place], *args[place + 1 :]]

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] [PATHS]...")
        formatter.write_usage(ctx.command_path, "COMMAND ...", prefix="       ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in check.get_params(ctx) if isinstance(param, click.Option)]
        records = [record for param in options if (record := param.get_help_record(ctx)) is not None]
        version = [record for param in self.params if (record := param.get_help_record(ctx)) is not None]
        with formatter.section("Options"):
            formatter.write_dl([*records[:-1], *version, records[-1]])
        self.format_commands(ctx, formatter)


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 nothing found, 1 problems found, 2 it could not run.",
)
@click.version_option(ferrule_lint.__version__, prog_name="ferrule-lint", message="%(prog)s %(version)s")
def cli() -> None:
    """Find collective-divergence bugs in distributed PyTorch programs.

    Lints PATHS (files or folders, by default the current folder). The whole project around them is read, because
    the cause of a divergence is often in another file; only PATHS are reported.
    """


cli.add_command(check)
cli.add_command(clean)
cli.add_command(explain)
cli.add_command(rules)
cli.add_command(trace)
cli.add_command(triage)
cli.add_command(why)
cli.add_command(server)
cli.add_command(config)
cli.add_command(completion)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        # a terminal or pipe that cannot show a character must not stop the report
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    # facts and values are many, and make next to no cycles: looking for some takes longer than the process lives
    gc.disable()
    status = run(args)
    gc.freeze()  # Python would look once more at exit
    sys.exit(status)


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    try:
        given = None if args is None else list(args)
        status = cli.main(args=given, prog_name="ferrule-lint", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return FAILURE
    except click.Abort:
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except Exception:
        if not _has_current_folder():
            click.echo("error: the current folder does not exist any more", err=True)
            return FAILURE
        click.echo(traceback.format_exc(), err=True, nl=False)
        click.echo("error: this is a bug in ferrule-lint, please report it", err=True)
        return FAILURE
    return status if isinstance(status, int) else 0


def _has_current_folder() -> bool:
    """Whether the folder that the command was called in is still there; all relative paths need it."""
    try:
        os.getcwd()
    except OSError:
        return False
    return True
