#!/usr/bin/env python3
"""Does anything break the linter? Generated and mutated inputs go through its parts; what fails is kept.

    python benchmarks/fuzz.py [--rounds 2000] [--seed 0] [--corpus DIR] [--log FILE] [--keep DIR]

Each round makes one input from its number and the seed, and tries one target:

* `frontend`: any text; facts, or an error with its place; facts come back from the cache's format as they were
* `semantics`: a program; no internal error, and the same findings a second time
* `fixes`: a program with findings; every fix that is offered leaves Python, and finishes; a second run changes nothing
* `config`: any TOML; settings, or one message

Programs come from a grammar that knows Python's statements and torch's collectives. With `--corpus` half of them are
files of that folder instead, with lines and characters moved, doubled and dropped. The log has a line an input: round,
target, size, and what came of it. Exit code 1 if something failed.
"""

from __future__ import annotations

import argparse
import ast
import collections
import pathlib
import random
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import programs

from ferrule_lint import engine
from ferrule_lint.checks.run import check
from ferrule_lint.facts import codec
from ferrule_lint.fixes.text import SourceText
from ferrule_lint.frontend.errors import SourceError
from ferrule_lint.frontend.lower import extract
from ferrule_lint.models.loader import load_models
from ferrule_lint.project.config import ConfigError, Settings, load_settings


class Broken(Exception):
    """A target did what it may not do."""


# ---------------------------------------------------------------------- targets: input -> what came of it
def frontend(text: str) -> str:
    try:
        facts = extract(text.encode("utf-8", "surrogatepass"))
    except SourceError as error:
        return f"not Python: {error.message}"[:60]
    if codec.load(codec.dump(facts)) != facts:
        raise Broken("facts differ after the cache's format")
    return f"{len(facts.functions)} functions"


def semantics(text: str) -> str:
    try:
        files = {"pkg/a.py": extract(text.encode("utf-8", "surrogatepass"))}
    except SourceError as error:
        return f"not Python: {error.message}"[:60]
    first, second = (check(files, list(files), load_models()) for _ in range(2))
    if first.errors:
        raise Broken(first.errors[0].message)
    if first != second:
        raise Broken("other findings the second time")
    return f"{len(first.findings)} findings"


def fixes(text: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "a.py")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        pathlib.Path(folder, "pyproject.toml").touch()
        settings = Settings(root=pathlib.Path(folder), unsafe_fixes=True)
        fixed = engine.fix([folder], settings, use_cache=False)
        if fixed.report.errors:
            raise Broken(fixed.report.errors[0].message)
        for name, content in fixed.repair.contents.items():
            ast.parse(content)
            SourceText(content)
            if name not in fixed.before:
                raise Broken("a file was changed that was not read")
            path.write_bytes(content)
        if fixed.repair.contents and engine.fix([folder], settings, use_cache=False).repair.contents:
            raise Broken("a second run changes something")
        return f"{len(fixed.repair.contents)} files changed"


def config(text: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "pyproject.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            load_settings(pathlib.Path(folder))
        except ConfigError as error:
            return f"refused: {error}".replace(folder, "")[:60].replace("\n", " ")
    return "accepted"


TARGETS: dict[str, Callable[[str], str]] = {
    "frontend": frontend, "semantics": semantics, "fixes": fixes, "config": config,
}  # fmt: skip


def make(target: str, pick: random.Random, corpus: Sequence[pathlib.Path]) -> str:
    """An input for a target."""
    if target == "config":
        return programs.settings(pick)
    if corpus and pick.random() < 0.5:
        text = pick.choice(corpus).read_bytes().decode("utf-8", "replace")
    else:
        text = programs.module(pick)
    return programs.mutated(text, pick) if pick.random() < (0.9 if target == "frontend" else 0.4) else text


def attempt(target: str, text: str) -> tuple[str, str]:
    """What came of an input, and the trace of what went wrong, or ""."""
    try:
        return TARGETS[target](text), ""
    except Exception as error:
        return f"FAILED {type(error).__name__}: {error}".replace("\n", " ")[:200], traceback.format_exc()


def _coarse(outcome: str) -> str:
    number, _, what = outcome.partition(" ")
    return f"some {what}" if number.isdigit() and number != "0" else outcome.partition(":")[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corpus", type=pathlib.Path)
    parser.add_argument("--log", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--target", choices=list(TARGETS))
    options = parser.parse_args()
    corpus: list[pathlib.Path] = []
    if options.corpus:
        # links may lead nowhere
        corpus = sorted(p for p in options.corpus.rglob("*.py") if p.is_file() and p.stat().st_size < 60_000)
    names = [options.target] if options.target else list(TARGETS)
    counts: dict[str, collections.Counter[str]] = {name: collections.Counter() for name in names}
    log = options.log.open("w", encoding="utf-8") if options.log else None
    failed = 0
    for number in range(options.rounds):
        pick = random.Random(f"{options.seed}/{number}")
        target = names[number % len(names)]
        text = make(target, pick, corpus)
        outcome, trace = attempt(target, text)
        counts[target]["failed" if trace else _coarse(outcome)] += 1
        if log is not None:
            print(number, target, len(text), outcome, sep="\t", file=log, flush=True)
        if trace:
            failed += 1
            print(f"round {number}, {target}: {outcome}\n{trace}")
            if options.keep is not None:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{target}-{options.seed}-{number}.txt").write_text(text, "utf-8", "surrogatepass")
    print("| target | inputs | failed | outcomes |\n| --- | --- | --- | --- |")
    for name, outcomes in counts.items():
        most = ", ".join(f"{what} ({n})" for what, n in outcomes.most_common(5) if what != "failed")
        print(f"| {name} | {sum(outcomes.values())} | {outcomes['failed']} | {most} |")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
