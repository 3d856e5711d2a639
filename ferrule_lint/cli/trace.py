"""`ferrule-lint trace [-m] script.py ...`: run a program on several ranks and say where they part.

The harness needs torch and is imported only here.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ferrule_lint.cli.failure import Failure

if TYPE_CHECKING:
    from ferrule_lint.harness.result import Result

_CONTEXT = {
    "help_option_names": ["-h", "--help"],
    "ignore_unknown_options": True,
    # options after the program are the program's
    "allow_interspersed_args": False,
}


@click.command(
    context_settings=_CONTEXT,
    epilog="Exit codes: 86 the ranks diverged, 124 the time limit was reached, 2 it could not run, else the program's.",
)
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-m", "--module", is_flag=True, help="PROGRAM is a module, as in `python -m`.")
@click.option("-n", "--ranks", type=click.IntRange(1), default=2, show_default=True, help="How many ranks.")
@click.option(
    "--mode",
    type=click.Choice(["lockstep", "trace", "simulate"]),
    default="lockstep",
    show_default=True,
    help="Hold every operation until all have come to it; only record; or one rank after the other, without data.",
)
@click.option(
    "--backend",
    type=click.Choice(["auto", "nccl", "gloo"]),
    default="auto",
    show_default=True,
    help="What the machine must offer; with gloo, a program that asks for NCCL gets gloo.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Hold asynchronous operations as well: shows opposite orders on two groups, and a ring of isend.",
)
@click.option(
    "--timeout", type=click.FloatRange(0), default=0.0, metavar="SECONDS", help="End the run. [default: never]"
)
@click.option("--fresh", is_flag=True, help="An interpreter of its own for every rank instead of forks.")
@click.option("--no-flow", is_flag=True, help="Do not record which lines ran: faster, but no line of parting.")
@click.option("--no-lint", is_flag=True, help="Do not ask the linter about the lines of a divergence.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, allow_dash=True), help="Write the result as JSON.")
@click.option("--events", is_flag=True, help="With --json: all recorded events as well.")
@click.pass_context
def trace(
    ctx: click.Context,
    program: str,
    arguments: tuple[str, ...],
    module: bool,
    ranks: int,
    mode: str,
    backend: str,
    strict: bool,
    timeout: float,
    fresh: bool,
    no_flow: bool,
    no_lint: bool,
    json_file: Path | None,
    events: bool,
) -> None:
    """Run PROGRAM on several ranks, and say where they diverge.

    Its operations are recorded below torch.distributed, so hidden ones count too. What the program prints goes to
    the terminal, the report to the standard error.

    Under torchrun (torchrun ... -m ferrule_lint trace PROGRAM), on one host or several, the ranks are torchrun's.
    """
    need_torch("trace")
    gc.enable()  # how long the program runs is not ours to say
    from ferrule_lint.harness.api import run
    from ferrule_lint.harness.errors import HarnessError
    from ferrule_lint.harness.join import is_launched, join
    from ferrule_lint.harness.rank.body import Script

    def shown(result: Result) -> Result:
        if result.divergence is not None and not no_lint:
            from ferrule_lint.harness.lint import notes

            result = result.with_notes(notes(result.divergence))
        show(result, json_file, events=events)
        return result

    try:
        if is_launched():
            script = Script(program, arguments, is_module=module)
            join(script, shown, mode=mode, backend=backend, strict=strict, timeout=timeout, flow=not no_flow)
        result = run(
            f"-m {program}" if module else program,
            ranks=ranks,
            args=arguments,
            mode=mode,
            backend=backend,
            strict=strict,
            timeout=timeout,
            fresh=fresh,
            flow=not no_flow,
            capture=False,
        )
    except HarnessError as error:
        raise Failure(str(error)) from None
    ctx.exit(shown(result).exit_code)


def need_torch(command: str) -> None:
    """Failure with what to install, unless torch is there."""
    if importlib.util.find_spec("torch") is None:
        raise Failure(f"`ferrule-lint {command}` needs torch: pip install 'ferrule-lint[harness]'")


def show(result: Result, json_file: Path | None, *, events: bool) -> None:
    """The report to the standard error, JSON where it was asked for."""
    from ferrule_lint.harness.render import as_text, remarks_text
    from ferrule_lint.reporters.text import wants_colour

    if json_file is not None:
        text = json.dumps(result.as_dict(events=events), indent=2)
        if str(json_file) == "-":
            click.echo(text)
        else:
            try:
                json_file.write_text(text + "\n", encoding="utf-8")
            except OSError as error:
                raise Failure(f"cannot write: {error.strerror}", str(json_file)) from None
    colour = wants_colour(sys.stderr)
    # a rank that raised has already printed its traceback
    if result.divergence is not None:
        click.echo(as_text(result, colour=colour), err=True, nl=False)
    else:
        count = sum(len(log) for log in result.events)
        words = "; ".join(f"rank {one.rank} {one}" for one in result.failed[:4])
        fine = "no divergence" if count else "nothing to compare: the program has not used torch.distributed"
        click.echo(
            f"ferrule-lint: {words or fine}; {result.world} ranks, {result.backend}, {result.mode}, "
            f"{count} operations, {result.seconds:.1f} s\n{remarks_text(result)}",
            err=True,
            nl=False,
        )
