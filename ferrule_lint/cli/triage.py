"""`ferrule-lint triage DUMP...`: where did the ranks of a dead job part?"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ferrule_lint.cli.failure import Failure

DIVERGED = 86


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 86 the ranks diverged, 0 no difference was found, 2 it could not run.",
)
@click.argument("dumps", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--source",
    type=click.Path(exists=True, path_type=Path),
    help="The program's source tree: findings of the linter on the lines that differ are shown.",
)
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def triage(ctx: click.Context, dumps: tuple[Path, ...], source: Path | None, output_format: str) -> None:
    """Compare Flight Recorder dumps (pickle or JSON), one file a rank, or a folder of them.

    torch writes them when a collective times out if TORCH_NCCL_DUMP_ON_TIMEOUT and TORCH_NCCL_TRACE_BUFFER_SIZE are
    set. The file's name ends with the rank. torch itself is not needed here.
    """
    from ferrule_lint.harness.errors import HarnessError
    from ferrule_lint.harness.lint import notes_at
    from ferrule_lint.harness.render import divergence_text
    from ferrule_lint.harness.triage.compare import triage as compare
    from ferrule_lint.harness.triage.dumps import read_dumps
    from ferrule_lint.reporters.text import wants_colour

    try:
        found = compare(read_dumps(dumps))
    except HarnessError as error:
        raise Failure(str(error)) from None
    divergence = found.divergence
    if divergence is not None and source is not None:
        divergence = divergence.with_notes(notes_at(divergence.places(), source))
    if output_format == "json":
        values = {
            "version": "1",
            "dumps": found.dumps,
            "entries": found.entries,
            "divergence": divergence.as_dict() if divergence else None,
            "remarks": list(found.remarks),
        }
        click.echo(json.dumps(values, indent=2))
    else:
        if divergence is None:
            click.echo(f"no difference between {found.dumps} ranks in {found.entries} recorded operations")
        else:
            click.echo(divergence_text(divergence, colour=wants_colour(sys.stdout)), nl=False)
        for remark in found.remarks:
            click.echo(remark)
    ctx.exit(DIVERGED if divergence is not None else 0)
