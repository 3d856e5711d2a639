#!/usr/bin/env python3
"""Bugs put into real code: how many of them are found?

    python benchmarks/seeded.py TREE... [--kind guard] [--most 20] [--seed 0]

Each kind changes one statement or expression of one file, with the rest of the tree as it is (`seeds.py`):

* *guard*: a call of a function that communicates is put under `if torch.distributed.get_rank() == 0`. Which functions
  communicate is told from their text alone: one that is defined once in the tree and calls a collective of
  `torch.distributed`, or, over at most four calls, one that does.
* *agreement*: an `all_reduce` or `broadcast` of a variable is taken out, or an `all_gather` leaves a list of what the
  rank itself has, if conditions or loops below ask for the variable, or it is returned.
* *helper*: the same of a small function of the project, or a method of accelerate or Fabric, by which ranks agree on
  what it is given: the call is replaced by its argument.
* *padding*: a tensor is not padded before it is gathered.
* *order*: a `list` in place of `sorted`, in a function that communicates.

An agreement, or a helper, counts only if it decides over collectives: if there is a finding once the rank's number
stands in the place of what ranks agreed on.

A bug is found if there is a finding, at the default confidence, that was not there before (of a guard: that points at
the statement). The lines of what is not found are printed: not every agreement is about something that ranks disagree
on, not every list is of another length or order. Bugs of this kind are written into functions that exist, so they say
how far the analysis sees through real code; they say nothing of bugs that nobody thinks of (see docs/accuracy.md).
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import pathlib
import sys
from collections.abc import Sequence

from seeds import Seed, seeds

from ferrule_lint.checks.known import Remembered
from ferrule_lint.checks.result import Before, CheckResult
from ferrule_lint.checks.run import check
from ferrule_lint.facts.types import FileFacts
from ferrule_lint.findings import Confidence, Finding
from ferrule_lint.frontend.errors import SourceError
from ferrule_lint.frontend.lower import extract
from ferrule_lint.models.loader import load_models

_STACK = 10_000
#: files that are looked at besides, since they may call the function with the bug
_CALLERS = 5
KINDS = ("guard", "agreement", "helper", "padding", "order")


class Tree:
    """A project, and what is found in it with one of its files changed."""

    def __init__(self, root: pathlib.Path) -> None:
        self.models = load_models()
        self.sources: dict[str, str] = {}
        self.facts: dict[str, FileFacts] = {}
        self.parsed: dict[str, ast.Module] = {}
        for path in sorted(root.rglob("*.py")):
            name = path.relative_to(root).as_posix()
            try:
                self.facts[name] = extract(path.read_bytes())
                self.sources[name] = path.read_text("utf-8")
                self.parsed[name] = ast.parse(self.sources[name])
            except (OSError, SourceError, SyntaxError, ValueError):  # a folder can be called x.py
                continue
        self._before: set[tuple[str, str, str]] = set()
        self._checked: CheckResult | None = None

    def look_at(self, seeds: Sequence[Seed]) -> None:
        """What is found where bugs are to come, and in files that speak of their functions."""
        paths = {path for seed in seeds for path in self._around(seed)}
        result = check(self.facts, paths, self.models, before=Before(Remembered(), {p: p for p in self.facts}))
        self._checked = result
        self._before = {(f.path, f.code, f.message) for f in result.findings if f.confidence > Confidence.LOW}

    def new(self, seed: Seed, text: str) -> list[Finding]:
        """What is found at the default confidence and was not before, with `text` in the place of a seed."""
        try:
            facts = {**self.facts, seed.path: extract(seed.applied(self.sources[seed.path], text).encode())}
        except SourceError:
            return []
        found = check(facts, self._around(seed), self.models, like=self._checked).findings
        known = self._before
        return [f for f in found if f.confidence > Confidence.LOW and (f.path, f.code, f.message) not in known]

    def _around(self, seed: Seed) -> list[str]:
        callers = [p for p, s in self.sources.items() if p != seed.path and f"{seed.function.name}(" in s]
        return [seed.path, *callers[:_CALLERS]]


def judged(tree: Tree, seed: Seed) -> bool | None:
    """Whether a bug is found; None if it is none."""
    if seed.forced and not tree.new(seed, seed.forced):
        return None
    found = tree.new(seed, seed.text)
    if seed.kind != "guard":
        return bool(found)
    first, last = seed.line, (seed.node.end_lineno or 0) + 3
    return any(first <= line <= last for f in found for line in (f.span.line, *(e.line for e in f.events)))


def drawn(every: list[Seed], number: int, salt: str) -> list[Seed]:
    def key(seed: Seed) -> str:
        return hashlib.sha256(f"{salt}{seed.path}:{seed.line}".encode()).hexdigest()

    return sorted(every, key=key)[:number]


def main() -> None:
    parser = argparse.ArgumentParser(description="Bugs put into real code: how many of them are found?")
    parser.add_argument("trees", nargs="+", type=pathlib.Path, metavar="TREE")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only bugs of this kind; may be repeated")
    parser.add_argument("--most", type=int, default=20, help="at most so many of each tree and kind are looked at")
    parser.add_argument("--seed", default="0", help="decides which are drawn")
    options = parser.parse_args()
    sys.setrecursionlimit(_STACK)
    kinds = options.kind or KINDS
    total = {kind: [0, 0] for kind in kinds}
    for root in options.trees:
        tree = Tree(root)
        every = list(seeds(tree.parsed))
        chosen = {k: drawn([s for s in every if s.kind == k], options.most, options.seed) for k in kinds}
        tree.look_at([seed for of_kind in chosen.values() for seed in of_kind])
        for kind in kinds:
            results = []
            for seed in chosen[kind]:
                result = judged(tree, seed)
                if result is None:
                    continue
                results.append(result)
                if not result:
                    print(f"  not found: {kind} {seed.path}:{seed.line} {ast.unparse(seed.node)[:80]}", flush=True)
            total[kind][0] += sum(results)
            total[kind][1] += len(results)
            print(f"{root.name}: {kind} {sum(results)} of {len(results)}", flush=True)
    for kind, (found, number) in total.items():
        print(f"all: {kind} {found} of {number}")


if __name__ == "__main__":
    main()
