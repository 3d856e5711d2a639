#!/usr/bin/env python3
"""CPU seconds, wall time and peak memory of ferrule-lint and flake8 on the same tree, in one run.

    python benchmarks/speed.py TREE... [--flake8 "flake8 -j1"] [--tool "python -m ferrule_lint"] [--runs 3]

For each tree: flake8, ferrule-lint cold (an empty cache, which it fills) and warm (unchanged). Runs take turns, so that
both tools see the same load; the least of the runs counts. Other programs on the machine make all numbers larger:
ratios are what to look at. Exit code 2 if a command cannot be run.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shlex
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds with those of child processes, wall seconds, and MB of the largest process."""

    cpu: float
    wall: float
    memory: int


def measure(command: list[str], folder: pathlib.Path) -> Cost:
    """Run a linter in `folder`; its exit code may be 0 or 1."""
    start = time.perf_counter()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            os.chdir(folder)
            # an installed program has its bytecode; where this is set it is compiled anew each time
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            os.execvp(command[0], command)
        finally:
            os._exit(127)
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"error: {shlex.join(command)}: exit code {os.waitstatus_to_exitcode(status)}")
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - start, usage.ru_maxrss // 1024)


def least(costs: list[Cost]) -> Cost:
    return Cost(min(c.cpu for c in costs), min(c.wall for c in costs), max(c.memory for c in costs))


def lines_of(tree: pathlib.Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in tree.rglob("*.py") if path.is_file())


def compare(tree: pathlib.Path, tool: list[str], flake8: list[str], runs: int) -> dict[str, Cost]:
    """The costs of flake8, and of ferrule-lint cold and warm."""
    found: dict[str, list[Cost]] = {}
    for _ in range(runs):
        cache = tempfile.mkdtemp(prefix="ferrule-speed-")
        try:
            lint = [*tool, "--cache-dir", cache, "--exit-zero", "-q", "."]
            for name, command in (("flake8", [*flake8, "."]), ("cold", lint), ("warm", lint)):
                found.setdefault(name, []).append(measure(command, tree))
        finally:
            shutil.rmtree(cache)
    return {name: least(costs) for name, costs in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=pathlib.Path)
    parser.add_argument("--tool", default=f"{shlex.quote(sys.executable)} -m ferrule_lint")
    parser.add_argument("--flake8", default=f"{shlex.quote(sys.executable)} -m flake8 -j1")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    print("| tree | lines | run | CPU s | wall s | MB | CPU of flake8 |\n| --- | --- | --- | --- | --- | --- | --- |")
    for tree in options.trees:
        costs = compare(tree, shlex.split(options.tool), shlex.split(options.flake8), options.runs)
        for name, cost in costs.items():
            ratio = f"{cost.cpu / costs['flake8'].cpu:.2f}"
            numbers = f"{cost.cpu:.2f} | {cost.wall:.2f} | {cost.memory} | {ratio}"
            print(f"| {tree.name} | {lines_of(tree)} | {name} | {numbers} |")


if __name__ == "__main__":
    main()
