#!/usr/bin/env python3
"""Is the analysis right? Small SPMD programs are run on several ranks, and what happens is compared with what it says.

    python benchmarks/oracle.py [--programs 2000] [--seed 0] [--show 3] [--save DIR]

Each program is generated, then executed by Python itself once for every rank, with a `torch` that does nothing but let
the ranks meet (`spmd.py`), on several draws of the inputs: parameters are the same on every rank, batches are not. A
program *diverges* if on some draw the ranks meet in different collectives, or one waits for another that has ended. It
diverges *on closed paths* if it does so only where tests are freed from arithmetic (`rank > 1` and `rank == 1` can then
both hold), which the analysis does not do. A variable *differs* if on some draw the ranks hold different values where
all of them reach the place.

Two things are bugs of the analysis: a variable that differs and is called uniform, and a high-confidence finding in a
program that does not diverge, not even on closed paths. Exit code 1 if there are any; `--show` prints so many of each,
`--save` keeps them all.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import sys
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import spmd

from ferrule_lint.checks.reveal import reveal
from ferrule_lint.checks.run import check
from ferrule_lint.findings import Confidence
from ferrule_lint.frontend.lower import extract
from ferrule_lint.models.loader import load_models
from ferrule_lint.models.lookup import ModelSet

VERDICTS = ("nothing", *(c.label for c in Confidence))
OUTCOMES = ("diverges", "diverges on closed paths", "does not diverge")
LEVELS = ("uniform", "unknown", "divergent")


@dataclass(frozen=True, slots=True)
class Judged:
    """One program: what happens, and what is said."""

    source: str
    #: one of `OUTCOMES`
    outcome: str
    #: the surest finding, or "nothing"
    verdict: str
    #: (line, differs, level) of every variable that was asked for and reached
    variables: tuple[tuple[int, bool, str], ...]

    @property
    def bugs(self) -> list[str]:
        found = [
            f"line {line} differs and is called uniform"
            for line, d, level in self.variables
            if d and level == "uniform"
        ]
        if self.verdict == "high" and self.outcome == OUTCOMES[2]:
            found.append("a finding of high confidence, and no run diverges")
        return found


def judge(source: str, models: ModelSet, seed: int) -> Judged:
    runs = [spmd.run(source, f"{seed}/{draw}") for draw in range(spmd.DRAWS)]
    closed = any(spmd.run(source, f"{seed}/{draw}", opened=True).diverged for draw in range(4 * spmd.DRAWS))
    files = {"program.py": extract(source.encode())}
    result = check(files, ["program.py"], models)
    assert not result.errors, result.errors
    surest = max((finding.confidence for finding in result.findings), default=None)
    differs: dict[int, bool] = {}
    for run in runs:
        for line, values in run.values.items():
            differs[line] = differs.get(line, False) or values
    levels: dict[int, set[str]] = collections.defaultdict(set)
    for _, line, level in reveal(files, models):
        levels[line].add(level.partition("[")[0])
    return Judged(
        source,
        OUTCOMES[0 if any(run.diverged for run in runs) else 1 if closed else 2],
        "nothing" if surest is None else surest.label,
        # a place that is analysed several times is what it is in the worst
        tuple((line, d, max(levels[line], key=LEVELS.index)) for line, d in sorted(differs.items()) if levels[line]),
    )


def table(title: str, columns: tuple[str, ...], rows: dict[str, collections.Counter[str]]) -> str:
    lines = [f"| {title} | {' | '.join(columns)} |", "| --- " * (len(columns) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(str(counts[c]) for c in columns)} |" for name, counts in rows.items()]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("--save", type=pathlib.Path)
    options = parser.parse_args()
    models = load_models()
    programs = {name: collections.Counter[str]() for name in OUTCOMES}
    variables = {name: collections.Counter[str]() for name in ("differs", "does not differ")}
    wrong: list[Judged] = []
    missed: list[Judged] = []
    for number in range(options.programs):
        seed = options.seed + number
        judged = judge(spmd.program(seed), models, seed)
        programs[judged.outcome][judged.verdict] += 1
        for _, differs, level in judged.variables:
            variables["differs" if differs else "does not differ"][level] += 1
        if judged.bugs:
            wrong.append(judged)
        if judged.outcome == OUTCOMES[0] and judged.verdict == "nothing":
            missed.append(judged)
    print(table("a program that", VERDICTS, programs), "", table("a variable that", LEVELS, variables), sep="\n")
    for name, cases in (("wrong", wrong), ("missed", missed)):
        for number, case in enumerate(cases):
            text = "\n".join([*(f"# {bug}" for bug in case.bugs), case.source])
            if number < options.show:
                print(f"\n# ---- {name}\n{text}")
            if options.save is not None:
                options.save.mkdir(parents=True, exist_ok=True)
                (options.save / f"{name}{number}.py").write_text(text)
    print(f"\n{options.programs} programs, {len(wrong)} with something wrong, {len(missed)} divergences missed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
