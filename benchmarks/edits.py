#!/usr/bin/env python3
"""What a run over a project costs after a few files were edited, and whether it finds what a run without a cache finds.

    python benchmarks/edits.py TREE [--rounds 5] [--files 5] [--only PATTERN] [--seed 0] [--compare] [--tool "..."]

TREE is copied, and linted once with an empty cache. In each round a statement is put into a function of some files,
or one is taken out, or a comment put above it, as the seed has it, and the copy is linted again: the edited files
alone, as a pre-commit hook does, and then all of it, both with the cache of the round before. `--compare` lints the
copy without a cache, too, and exits with 1 if that finds anything else. Other programs on the machine make all numbers
larger.
"""

from __future__ import annotations

import argparse
import ast
import json
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from speed import Cost, measure

_KINDS = ("statement", "statement", "removal", "comment")


def edit(path: pathlib.Path, pick: random.Random, number: int) -> bool:
    """One edit of one function; False if the file has none that it could be made in."""
    text = path.read_text("utf-8")
    functions = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and len(node.body) > 2
    ]
    if not functions:
        return False
    statement = pick.choice(pick.choice(functions).body[1:])
    lines = text.split("\n")
    first, last = statement.lineno - 1, statement.end_lineno or statement.lineno
    indent = re.match(r"\s*", lines[first])[0]  # type: ignore[index]
    kind = pick.choice(_KINDS)
    if kind == "removal":
        lines[first:last] = [f"{indent}pass"]
    elif kind == "comment":
        lines.insert(first, f"{indent}# note {number}")
    else:
        lines.insert(last, f"{indent}_note_{number} = {number}")
    edited = "\n".join(lines)
    try:
        ast.parse(edited)
    except SyntaxError:
        return False
    path.write_text(edited, "utf-8")
    return True


def findings(tool: list[str], folder: pathlib.Path, cache: list[str]) -> list[object]:
    """What is found, in order."""
    command = [*tool, *cache, "--exit-zero", "--output-format", "json", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"error: {shlex.join(command)}: exit code {done.returncode}\n{done.stderr}")
    found: list[object] = json.loads(done.stdout)["findings"]
    return found


def shown(name: str, cost: Cost) -> str:
    return f"| {name} | {cost.cpu:.2f} | {cost.wall:.2f} | {cost.memory} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=int, default=5)
    parser.add_argument("--only", default="**/*.py", help="the files that are edited")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--tool", default=f"{shlex.quote(sys.executable)} -m ferrule_lint")
    options = parser.parse_args()
    tool, pick, different = shlex.split(options.tool), random.Random(options.seed), 0
    with tempfile.TemporaryDirectory(prefix="ferrule-edits-") as name:
        around = pathlib.Path(name)
        tree, cache, before = around / "tree", around / "cache", around / "before"
        shutil.copytree(options.tree, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        lint = [*tool, "--cache-dir", str(cache), "--exit-zero", "-q"]
        print("| run | CPU s | wall s | MB |\n| --- | --- | --- | --- |")
        print(shown("empty cache", measure([*lint, "."], tree)), flush=True)
        print(shown("nothing changed", measure([*lint, "."], tree)), flush=True)
        files = sorted(path for path in tree.glob(options.only) if path.is_file() and not path.is_symlink())
        for number in range(options.rounds):
            edited: list[str] = []
            while len(edited) < min(options.files, len(files)):
                path = pick.choice(files)
                if edit(path, pick, number):
                    edited.append(str(path.relative_to(tree)))
            shutil.copytree(cache, before, dirs_exist_ok=True)
            few = [*tool, "--cache-dir", str(before), "--exit-zero", "-q", *dict.fromkeys(edited)]
            print(shown(f"{number}: the edited files", measure(few, tree)), flush=True)
            print(shown(f"{number}: the project", measure([*lint, "."], tree)), flush=True)
            shutil.rmtree(before)
            if options.compare:
                warm = findings(tool, tree, ["--cache-dir", str(cache)])
                cold = findings(tool, tree, ["--no-cache"])
                if warm != cold:
                    different += 1
                    print(f"different after {', '.join(edited)}: {len(warm)} and {len(cold)} findings")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
