#!/usr/bin/env python3
"""Which public functions of a library communicate, and does a model file say so?

    python scripts/unmodelled.py SITE_PACKAGES torch/distributed torch/nn/parallel
    python scripts/unmodelled.py CLONE/src accelerate

The library's own sources are analysed as if they were the project. A function counts as known if a model has it, under
its own name or a shorter one that it may be exported by. What is printed is read by a person: much of it is internal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ferrule_lint.facts.types import FileFacts  # noqa: E402
from ferrule_lint.findings import Confidence  # noqa: E402
from ferrule_lint.frontend.errors import SourceError  # noqa: E402
from ferrule_lint.frontend.lower import extract  # noqa: E402
from ferrule_lint.models.loader import load_models  # noqa: E402
from ferrule_lint.models.lookup import ModelSet  # noqa: E402
from ferrule_lint.semantics.analysis import Analysis  # noqa: E402

_STACK = 6000


@click.command(help=__doc__)
@click.argument("root", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("parts", nargs=-1, required=True)
def main(root: Path, parts: tuple[str, ...]) -> None:
    sys.setrecursionlimit(_STACK)
    models = load_models()
    known = 0
    for dotted, operations in sorted(communicating(Analysis(facts_of(root, parts), models, ()))):
        if is_known(models, dotted):
            known += 1
        else:
            click.echo(f"{dotted}  {', '.join(operations)}")
    click.echo(f"{known} more are known")


def facts_of(root: Path, parts: tuple[str, ...]) -> dict[str, FileFacts]:
    """Facts of the files below `root/part` for each part, tests left out; what cannot be parsed is, too."""
    facts = {}
    for part in parts:
        for path in sorted((root / part).rglob("*.py")) if (root / part).is_dir() else [root / part]:
            name = path.relative_to(root).as_posix()
            if "test" not in name:
                try:
                    facts[name] = extract(path.read_bytes())
                except SourceError as error:
                    click.echo(f"{name}: {error}", err=True)
    return facts


def communicating(analysis: Analysis) -> Iterator[tuple[str, list[str]]]:
    """(dotted name, operations) of each public function that issues events for certain, forwards left out."""
    for module in analysis.names.modules.values():
        for function in module.functions.values():
            names = function.qualname.split(".")
            if any(n.startswith("<") or (n.startswith("_") and not n.startswith("__")) for n in names):
                continue
            frame = analysis.frame_of(function)
            events = frame[0].events if frame is not None else ()
            operations = {e.op for e in events if e.confidence >= Confidence.MEDIUM and e.op != "forward"}
            if operations:
                yield f"{module.name}.{function.qualname}".removesuffix(".__init__"), sorted(operations)


def is_known(models: ModelSet, dotted: str) -> bool:
    """Whether a model has a function under its name, or its last one or two parts in a package above."""
    parts = dotted.split(".")
    shorter = (".".join(parts[:i] + parts[-n:]) for i in range(1, len(parts) - 1) for n in (1, 2))
    return any(models.call(name) is not None for name in (dotted, *shorter))


if __name__ == "__main__":
    main()
