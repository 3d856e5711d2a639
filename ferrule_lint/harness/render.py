"""A result as people read it: what differs, an aligned table of the ranks, the calls with their source lines."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence

from ferrule_lint.harness.divergence import KINDS, VALUES, Behaviour, Divergence, Parting
from ferrule_lint.harness.events import Site
from ferrule_lint.harness.origin import Origin
from ferrule_lint.harness.result import Result
from ferrule_lint.harness.sources import line_of

#: columns of the table; further behaviours are listed below it
MOST_COLUMNS = 5
#: width without a terminal
WIDTH = 120


def as_text(result: Result, *, width: int = WIDTH, colour: bool = False) -> str:
    """The report, or an empty string if there is nothing to report."""
    remarks = remarks_text(result)
    if result.divergence is not None:
        return divergence_text(result.divergence, width=width, colour=colour) + remarks
    if result.failed:
        alike: dict[str, list[int]] = {}
        for one in result.failed:
            alike.setdefault(str(one), []).append(one.rank)
        lines = [f"{ranks_text(ranks)} {words}" for words, ranks in alike.items()]
        first = result.failed[0]
        return "\n".join([*lines, first.traceback.rstrip()]).rstrip() + "\n" + remarks
    return ""


def remarks_text(result: Result) -> str:
    """What else matters, a line each; empty if there is nothing."""
    return "".join(f"note: {remark}\n" for remark in result.remarks)


def divergence_text(divergence: Divergence, *, width: int = WIDTH, colour: bool = False) -> str:
    from rich.console import Console, Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    shown = divergence.behaviours[:MOST_COLUMNS]
    for behaviour in shown:
        table.add_column(ranks_text(behaviour.ranks), overflow="fold")
    reached = False
    for row in divergence.rows:
        first = not row.agrees and not reached
        reached = reached or first
        mark = "  " if row.agrees else ">>" if first else "??"
        style = "dim" if row.agrees else "bold red" if first else ""
        table.add_row(f"{mark} {row.label}", *(Text(cell or "-") for cell in row.cells[:MOST_COLUMNS]), style=style)
    heading = "TIME LIMIT" if divergence.kind == "timeout" else f"DIVERGENCE ({divergence.kind})"
    parts: list[object] = [
        Text(f"{heading}: {divergence.text}", style="bold red"),
        Text(_context(divergence)),
        Text(""),
        table,
        Text(""),
    ]
    for behaviour in divergence.behaviours:
        parts.extend(Text(line) for line in _behaviour_lines(behaviour))
    parts.extend(Text(line) for line in _parting_lines(divergence))
    parts.extend(Text(f"  lint: {note}: {note.message}", style="yellow") for note in divergence.notes)
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=colour, color_system="standard" if colour else None, highlight=False
    )
    console.print(Group(*parts))  # type: ignore[arg-type]
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def ranks_text(ranks: Sequence[int], most: int = 4) -> str:
    """`rank 3`, `ranks 0-2`, `1022 ranks 1-1022`."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    words = [str(low) if low == high else f"{low}-{high}" for low, high in runs]
    shown = ",".join(words[:most]) + (",..." if len(words) > most else "")
    return f"{len(ranks)} ranks {shown}" if len(ranks) > 8 else f"ranks {shown}"


def place(site: Site) -> str:
    """`path:line in function`, the path relative to the current folder if it is below it."""
    path = os.path.relpath(site.path) if site.path.startswith(os.getcwd() + os.sep) else site.path
    return f"{path}:{site.line}" + (f" in {site.function}" if site.function else "")


def _context(divergence: Divergence) -> str:
    meaning = KINDS.get(divergence.kind, "")
    if not divergence.group:
        return meaning
    group = f"group {divergence.group!r} of {ranks_text(divergence.members)}"
    return f"{meaning}; {group}, {divergence.matched} collectives matched before"


def _behaviour_lines(behaviour: Behaviour) -> list[str]:
    words = f"{ranks_text(behaviour.ranks)}: {behaviour.doing}"
    if behaviour.api and behaviour.api not in behaviour.doing:
        words += f", within {behaviour.api}"
    if behaviour.module:
        words += f", of module {behaviour.module!r}"
    lines = [words]
    for number, site in enumerate(behaviour.stack):
        lines.append(f"    {'at' if not number else 'from'} {place(site)}")
        if source := line_of(site.path, site.line):
            lines.append(f"        {source}")
    if behaviour.last:
        lines.append(f"    its last operation: {behaviour.last}")
    lines.extend(f"    | {line}" for line in behaviour.error.splitlines())
    return lines


def _parting_lines(divergence: Divergence) -> list[str]:
    lines = []
    if divergence.out_of_step is not None:
        lines += ["", *_ways(divergence.out_of_step, "out of step since")]
    if divergence.parting is not None:
        lines += ["", *_ways(divergence.parting, "the ranks parted after")]
    elif divergence.origin is not None:
        lines += ["", *_origin_lines(divergence.origin)]
    elif divergence.kind in VALUES and len({one.site for one in divergence.behaviours}) == 1:
        lines += ["", "the ranks came to the same call: what differs is a value in it"]
    return lines


def _origin_lines(origin: Origin) -> list[str]:
    source = line_of(origin.path, origin.line)
    lines = [f"what differs is a value: `{origin.name}` of {place(Site(origin.path, origin.line, ''))}"]
    lines += [f"        {source}"] if source else []
    return lines + [f"    rank {rank}: {value}" for rank, value in zip(origin.ranks, origin.values, strict=True)]


def _ways(parting: Parting, lead: str) -> list[str]:
    source = line_of(parting.site.path, parting.site.line)
    lines = [f"{lead} {place(parting.site)}", *([f"        {source}"] if source else [])]
    for rank, way in zip(parting.ranks, parting.next_lines, strict=True):
        went = ", then ".join(str(site.line) if site.path == parting.site.path else place(site) for site in way)
        lines.append(f"    rank {rank} " + (f"went on to line {went}" if went else "went no further"))
    return lines
