#!/usr/bin/env python3
"""What the judged findings of the draws were about: lint them again as they were drawn, and count causes.

    python benchmarks/causes.py lint --mirror MIRROR --work WORK [DRAW...]    what each finding was, to WORK/DRAW.jsonl
    python benchmarks/causes.py table --work WORK                              the tables of docs/accuracy.md

`drawn.toml` says where findings were and what somebody thought of them, not what differed and what was issued. `lint`
asks the code of that time again: a worktree of the commit before a draw's record, the files with findings in the trees
as they were (clones lie as MIRROR/owner+name/repo). Findings of one project with the same judgement and reason have one
cause. FER001 is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ecosystem import JUDGEMENTS, CannotRun, Entry, Repository, extract, git, load

ROOT = pathlib.Path(__file__).parent.parent
RECORD = "benchmarks/drawn.toml"
#: draw -> the commit that records it as it was drawn; the first one's parent has all projects before
#: (of the thirty-eighth the first 42 projects: the others were linted with the rules made from these; of the
#: thirty-ninth the first 24, as the ten others were recorded later)
DRAWS = {
    21: "8e6e8e87", 22: "784733c9", 23: "e3ac33a7", 24: "d9863690", 25: "64e4289c", 26: "d54e1017", 27: "566e8eaf",
    28: "e5421dfd", 29: "b0aa6b06", 30: "1199ee84", 31: "a3d7a43c", 32: "7c313c52", 33: "6d1bbd87", 34: "c0340d89",
    35: "fcdfee2e", 36: "99e311ad", 37: "bb00d4ec", 38: "fc4ea0c4", 39: "2d9629ec", 40: "d90a2ae1", 41: "30fd3b42",
    42: "620961b6", 43: "219b49e7", 44: "77f54cb5", 45: "82f4ce55", 46: "7f394cc0", 47: "1387bcc0", 48: "0fd5b6a2",
    49: "e0895773",
}  # fmt: skip
_KINDS = {"rank": "rank", "data": "local data", "structure": "local data"}
_CONTROL = ("FER101", "FER102", "FER103", "FER104", "FER105", "FER106")


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding as it was drawn, and what somebody thought of it."""

    repo: str
    judgement: str
    why: str
    found: dict[str, Any]

    @property
    def cause(self) -> tuple[str, str]:
        return self.repo, self.why


def tree(mirror: pathlib.Path, work: pathlib.Path, repository: Repository) -> pathlib.Path:
    """The Python files of a project, extracted once; an empty `.git` marks the root, as in a clone."""
    out = work / "trees" / repository.folder
    if not (out / ".git").exists():
        extract(mirror / repository.folder / "repo", repository.commit, out)
        (out / ".git").mkdir()
    return out


def lint(draw: int, mirror: pathlib.Path, work: pathlib.Path) -> None:
    commit = DRAWS[draw]
    code = work / f"code{draw}"
    if not code.exists():
        git(ROOT, "worktree", "add", "--detach", str(code), f"{commit}^")
    before = {repository.name for repository in record(f"{commit}^")[0]}
    repositories, entries = record(commit)
    tool = [sys.executable, "-P", "-m", "ferrule_lint", "--no-cache", "--exit-zero", "--output-format", "json"]
    with (work / f"{draw}.jsonl").open("w", encoding="utf-8") as out:
        for project in repositories:
            wanted = [e for e in entries if e.repo == project.name and e.code != "FER001"]
            if project.name in before or not wanted:
                continue
            try:
                root = tree(mirror, work, project)
            except CannotRun as error:
                print(error, file=sys.stderr)
                continue
            files = sorted({entry.path for entry in wanted})
            environment = {**os.environ, "PYTHONPATH": str(code)}
            done = subprocess.run([*tool, *files], cwd=root, capture_output=True, text=True, env=environment)
            found = {f["fingerprint"]: f for f in json.loads(done.stdout)["findings"]}
            for one in wanted:
                if one.fingerprint in found:
                    entry = [one.repo, one.judgement, one.why, found[one.fingerprint]]
                    out.write(json.dumps(entry) + "\n")


def record(commit: str) -> tuple[list[Repository], list[Entry]]:
    return load(git(ROOT, "show", f"{commit}:{RECORD}").decode("utf-8"))


def judged(work: pathlib.Path) -> list[Judged]:
    files = [work / f"{draw}.jsonl" for draw in DRAWS]
    return [Judged(*json.loads(line)) for f in files if f.exists() for line in f.open(encoding="utf-8")]


def issued(finding: dict[str, Any]) -> str:
    op = finding["events"][0]["op"] if finding["events"] else ""
    if op in ("forward", "generate"):
        return "forwards"
    if op == "backward":
        return "backward passes"
    if op in ("barrier", "broadcast", "broadcast_object_list", "new_group"):
        return "broadcasts, barriers, groups"
    if op.startswith(("all_", "reduce", "gather", "scatter")) and "parameters" not in op:
        return "reductions, gathers"
    return "all else"


def what(finding: dict[str, Any]) -> tuple[str, ...]:
    """What differs and what is issued, of the rules that are about who comes to something."""
    if finding["code"] not in _CONTROL:
        return ()
    return _KINDS.get(finding["kind"], "processes, files, clocks, orders"), issued(finding)


def counted(findings: Iterable[Judged]) -> str:
    """How many causes of each judgement, and how many findings."""
    causes: dict[str, set[tuple[str, str]]] = defaultdict(set)
    number: dict[str, int] = defaultdict(int)
    for one in findings:
        causes[one.judgement].add(one.cause)
        number[one.judgement] += 1
    both = [", ".join(str(of(j)) for j in JUDGEMENTS) for of in (lambda j: len(causes[j]), number.__getitem__)]
    return " | ".join(both)


def tables(findings: list[Judged]) -> Iterator[str]:
    yield f"all | {counted(findings)}"
    for level in ("high", "medium"):
        yield f"{level} | {counted(f for f in findings if f.found['confidence'] == level)}"
    for code in sorted({f.found["code"] for f in findings}):
        yield f"{code} | {counted(f for f in findings if f.found['code'] == code)}"
    for key in sorted({what(f.found) for f in findings} - {()}):
        yield f"{' | '.join(key)} | {counted(f for f in findings if what(f.found) == key)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    linting = commands.add_parser("lint")
    linting.add_argument("--mirror", type=pathlib.Path, required=True)
    linting.add_argument("draws", nargs="*", type=int, help="default: all")
    showing = commands.add_parser("table")
    for one in (linting, showing):
        one.add_argument("--work", type=pathlib.Path, required=True)
    args = parser.parse_args()
    if args.command == "lint":
        args.work.mkdir(parents=True, exist_ok=True)
        for draw in args.draws or DRAWS:
            lint(draw, args.mirror.resolve(), args.work.resolve())
    else:
        print("\n".join(tables(judged(args.work))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
