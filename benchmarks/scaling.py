#!/usr/bin/env python3
"""How cost grows with size: parts of a tree are linted cold, each larger than the last.

    python benchmarks/scaling.py TREE [--parts 5] [--png scaling.png] [--tool "python -m ferrule_lint"]

A part is every n-th Python file of the tree, in a copy of its own. Prints a table of lines, CPU seconds, microseconds a
line and MB of the largest process; with matplotlib installed it also draws CPU seconds over lines. Other programs on
the machine make all numbers larger: what to look at is whether the third column stays level.
"""

from __future__ import annotations

import argparse
import pathlib
import shlex
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from speed import Cost, lines_of, measure


def part_of(tree: pathlib.Path, step: int, folder: pathlib.Path) -> pathlib.Path:
    """A copy of every `step`-th Python file of a tree, as a project of its own."""
    for path in sorted(p for p in tree.rglob("*.py") if p.is_file())[::step]:
        copy = folder / path.relative_to(tree)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    (folder / "pyproject.toml").touch()
    return folder


def draw(points: list[tuple[int, Cost]], png: pathlib.Path) -> bool:
    """CPU seconds over lines; False without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    axes = Figure(figsize=(6, 4)).add_subplot()
    axes.plot([lines / 1000 for lines, _ in points], [cost.cpu for _, cost in points], marker="o")
    axes.set(xlabel="thousand lines", ylabel="CPU seconds, cold", xlim=(0, None), ylim=(0, None))
    axes.figure.savefig(png, dpi=120)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("--parts", type=int, default=5)
    parser.add_argument("--png", type=pathlib.Path, default=pathlib.Path("scaling.png"))
    parser.add_argument("--tool", default=f"{shlex.quote(sys.executable)} -m ferrule_lint")
    options = parser.parse_args()
    points: list[tuple[int, Cost]] = []
    print("| lines | CPU s | us a line | MB |\n| --- | --- | --- | --- |")
    for step in (2**n for n in reversed(range(options.parts))):
        with tempfile.TemporaryDirectory(prefix="ferrule-scaling-") as folder:
            part = part_of(options.tree, step, pathlib.Path(folder))
            lines = lines_of(part)
            cost = measure([*shlex.split(options.tool), "--no-cache", "--exit-zero", "-q", "."], part)
        points.append((lines, cost))
        print(f"| {lines} | {cost.cpu:.2f} | {cost.cpu / max(lines, 1) * 1e6:.1f} | {cost.memory} |", flush=True)
    print(f"\n{options.png}" if draw(points, options.png) else "\nno picture: matplotlib is not installed")


if __name__ == "__main__":
    main()
