#!/usr/bin/env python3
"""Real collective-divergence bugs and their fixes: check the records, and run the linter on them.

    python benchmarks/cases.py half https://github.com/own/proj/pull/1      learn or unseen?
    python benchmarks/cases.py check [--mirror DIR] [--show ID]             the format; with DIR commits and lines
    python benchmarks/cases.py run --mirror DIR --half learn [--ids A,B]    lint the buggy and the fixed commit

The records are `cases/learn_*.toml`, `cases/opened_*.toml` and `cases/unseen_*.toml`; cases/README.md says what they
hold and how a case is counted. Nothing is downloaded: DIR holds clones as DIR/owner+name/repo.

Exit code: 0 checked or run; 1 a record is not as it has to be; 2 something could not be run.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import hashlib
import io
import itertools
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

RECORDS = pathlib.Path(__file__).with_name("cases")
HALVES = ("learn", "unseen")
SETS = (*HALVES, "opened")  # opened: of the unseen half, and looked at since; learnt from, no figure any more
SCOPES = ("intra", "inter", "cross-file")  # one function, one module, several modules
CONFIDENCES = ("low", "medium", "high")
SLACK = 1  # lines a finding may lie beside a recorded line
TIMEOUT_S = 900.0

#: Which rules name the defect of a category; None: any. The order of categories is that of cases/README.md.
CODES: dict[str, frozenset[str] | None] = {
    "forward-in-divergent-branch": frozenset({"FER101", "FER102", "FER107"}),
    "early-exit": frozenset({"FER103", "FER102", "FER101"}),
    "rank-guard": frozenset({"FER102", "FER101", "FER103", "FER401"}),
    "uneven-shape": frozenset({"FER201", "FER202"}),
    "pipeline-stage": frozenset({"FER301", "FER302", "FER102", "FER104"}),
    "trip-count": frozenset({"FER104", "FER103", "FER102", "FER101"}),
    "iteration-order": frozenset({"FER106"}),
    "exception": frozenset({"FER105", "FER103"}),
    "p2p": frozenset({"FER303", "FER102"}),
    "wrong-group": frozenset({"FER402", "FER401", "FER403", "FER404", "FER102", "FER302"}),
    "grad-sync": frozenset({"FER304", "FER103", "FER102", "FER101", "FER107"}),
    "other": None,
}


class CannotRun(Exception):
    """A record, a clone or the linter is not as it has to be; the message is for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A bug and its fix. Lines count from 1; `condition_line` 0: there is none; `url` "": only the commit is known."""

    id: str
    repo: str
    url: str = ""
    buggy_commit: str
    fixed_commit: str
    path: str
    buggy_lines: list[int]
    condition_line: int = 0
    condition_path: str = ""  # when it is not `path`
    fixed_lines: list[int]
    fixed_path: str = ""  # when it is not `path`
    neutral_fixed: bool = False  # the fix is partial or elsewhere: a finding on the fixed commit counts neither way
    category: str
    scope: str
    mechanism: str
    needs: str
    fix_form: str
    confidence: str
    decoys: str = ""

    @property
    def address(self) -> str:
        return self.url or f"{self.repo}@{self.fixed_commit}"

    @property
    def half(self) -> str:
        return half_of(self.address)

    @property
    def path_after(self) -> str:
        return self.fixed_path or self.path

    @property
    def wanted_lines(self) -> set[int]:
        """Lines of `path` that a finding on the buggy commit has to touch."""
        own_condition = self.condition_line and not self.condition_path
        return set(self.buggy_lines) | ({self.condition_line} if own_condition else set())


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What the linter made of one case; `error` is set when it could not be run."""

    id: str
    category: str
    codes: list[str] = field(default_factory=list)  # of the findings that hit
    still: list[str] = field(default_factory=list)  # code:line of findings that stay on the fixed commit
    hit: bool = False  # a finding touches a wanted line of the buggy commit
    strict: bool = False  # and one of them is of the category's rules
    clean: bool = False  # no finding touches a fixed line of the fixed commit
    noise: int = 0  # other findings in the buggy file
    error: str = ""

    @property
    def solved(self) -> bool:
        return self.strict and self.clean

    @property
    def verdict(self) -> str:
        if self.error:
            return "ERROR"
        if not self.hit:
            return "miss"
        return ("solved" if self.clean else "dirty") if self.strict else "loose"


def half_of(address: str) -> str:
    """`learn` or `unseen`, by the address alone, so that nobody chooses."""
    return "learn" if int(hashlib.sha256(address.encode()).hexdigest()[0], 16) % 2 == 0 else "unseen"


# --- records


def faults_of_format(entry: dict[str, Any]) -> Iterable[str]:
    known = {f.name: f for f in fields(Case)}
    for name in sorted(entry.keys() - known.keys()):
        yield f"unknown key {name}"
    for name, key in known.items():
        if name not in entry:
            if key.default is MISSING:
                yield f"no {name}"
            continue
        value = entry[name]
        match key.type:
            case "str":
                right = isinstance(value, str)
            case "bool":
                right = isinstance(value, bool)
            case "int":
                right = type(value) is int and value >= 0
            case _:
                right = isinstance(value, list) and all(type(v) is int and v > 0 for v in value)
        if not right:
            yield f"{name} = {value!r} is not of type {key.type}"


def faults_of_content(case: Case) -> Iterable[str]:
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", case.id):
        yield "the id is words of a-z and 0-9 joined by hyphens"
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", case.repo):
        yield f"repo = {case.repo!r} is not owner/name"
    if case.url and not re.match(r"https://github\.com/[\w.-]+/[\w.-]+/(pull|issues|commit)/\w+$", case.url):
        yield f"url = {case.url!r} is not the address of a pull request, an issue or a commit"
    for name in ("buggy_commit", "fixed_commit"):
        if not re.fullmatch(r"[0-9a-f]{40}", getattr(case, name)):
            yield f"{name} is not a full commit id"
    if not case.buggy_lines:
        yield "no buggy_lines"
    for name, allowed in (("category", CODES.keys()), ("scope", SCOPES), ("confidence", CONFIDENCES)):
        if getattr(case, name) not in allowed:
            yield f"{name} = {getattr(case, name)!r} is none of {', '.join(allowed)}"
    for name in ("mechanism", "needs", "fix_form"):
        if not getattr(case, name).strip():
            yield f"{name} is empty"


def read_records(folder: pathlib.Path) -> tuple[dict[str, list[Case]], list[str]]:
    """The cases of `folder` by set, and what is wrong with its files. A case with a wrong format is left out."""
    cases: dict[str, list[Case]] = {name: [] for name in SETS}
    faults: list[str] = []
    seen: dict[str, str] = {}
    for file in sorted(folder.glob("*.toml")):
        name = file.stem.partition("_")[0]
        if name not in SETS:
            faults.append(f"{file.name}: the name begins with learn_, opened_ or unseen_")
            continue
        half = "learn" if name == "learn" else "unseen"
        try:
            entries = tomllib.loads(file.read_text("utf-8")).get("case", [])
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            faults.append(f"{file.name}: {error}")
            continue
        for number, entry in enumerate(entries, 1):
            where = f"{file.name}: {entry.get('id') or f'case {number}'}"
            wrong = list(faults_of_format(entry))
            if not wrong:
                case = Case(**entry)
                wrong = list(faults_of_content(case))
                if case.half != half:
                    wrong.append(f"its address belongs to {case.half}")
                if case.id in seen:
                    wrong.append(f"the id is also in {seen[case.id]}")
                seen[case.id] = file.name
                cases[name].append(case)
            faults += [f"{where}: {fault}" for fault in wrong]
    return cases, faults


# --- clones


def git(mirror: pathlib.Path, case: Case, *arguments: str) -> bytes:
    repo = mirror / case.repo.replace("/", "+") / "repo"
    if not repo.exists():
        raise CannotRun(f"no clone of {case.repo} at {repo}")
    done = subprocess.run(["git", "-C", str(repo), *arguments], capture_output=True)
    if done.returncode:
        raise CannotRun(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace').strip()[-200:]}")
    return done.stdout


def places_of(case: Case) -> list[tuple[str, str, str, list[int]]]:
    """(name, commit, path, lines) of every place that a case names."""
    condition = [case.condition_line] if case.condition_line else []
    return [
        ("buggy_lines", case.buggy_commit, case.path, case.buggy_lines),
        ("condition_line", case.buggy_commit, case.condition_path or case.path, condition),
        ("fixed_lines", case.fixed_commit, case.path_after, case.fixed_lines),
    ]


def faults_in_clone(mirror: pathlib.Path, case: Case) -> Iterable[str]:
    if case.buggy_commit == case.fixed_commit:
        yield "both commits are the same"
    for name, commit, path, numbers in places_of(case):
        try:
            text = git(mirror, case, "show", f"{commit}:{path}").decode(errors="replace").splitlines()
        except CannotRun as error:
            yield str(error)
            continue
        for number in numbers:
            if number > len(text):
                yield f"{name}: {path} has {len(text)} lines, not {number}"
            elif not text[number - 1].partition("#")[0].strip():
                yield f"{name}: no code at {path}:{number}"


def shown(mirror: pathlib.Path, case: Case) -> Iterable[str]:
    """The places of a case with two lines around each, for the eyes of whoever writes it."""
    yield f"== {case.id} ({case.half}, {case.category}, {case.address})"
    for name, commit, path, numbers in places_of(case):
        text = git(mirror, case, "show", f"{commit}:{path}").decode(errors="replace").splitlines()
        around = sorted({n + d for n in numbers for d in range(-2, 3) if 0 < n + d <= len(text)})
        yield f"-- {name} {commit[:10]} {path}"
        yield from (f"{n:6}{'>' if n in numbers else ' '} {text[n - 1]}" for n in around)


def tree_at(mirror: pathlib.Path, trees: pathlib.Path, case: Case, commit: str) -> pathlib.Path:
    """The Python files and pyproject.toml files of a commit, extracted once.

    An empty `.git` folder marks the root, as in a clone: without it the linter takes a file outside any project for a
    lone script and reads little of what is around it.
    """
    out = trees / f"{case.repo.replace('/', '+')}@{commit[:12]}"
    (out / ".git").mkdir(parents=True, exist_ok=True)
    if (out / ".complete").exists():
        return out
    names = git(mirror, case, "ls-tree", "-r", "--name-only", "-z", commit).decode(errors="replace").split("\0")
    specs = ["*.py"] + ["*pyproject.toml"] * any(n.endswith("pyproject.toml") for n in names)
    out.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(git(mirror, case, "archive", commit, "--", *specs))) as archive:
        archive.extractall(out, members=[m for m in archive if m.isfile()], filter="data")
    (out / ".git").mkdir(exist_ok=True)
    (out / ".complete").touch()
    return out


# --- runs


def lint(tool: str, root: pathlib.Path, path: str, confidence: str | None) -> list[dict[str, Any]]:
    command = [*shlex.split(tool), "--output-format", "json", "--exit-zero"]
    command += ["--min-confidence", confidence] if confidence else []
    try:
        done = subprocess.run([*command, path], cwd=root, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise CannotRun(f"the linter took more than {TIMEOUT_S:.0f} s") from error
    if done.returncode:
        raise CannotRun(f"the linter ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    findings: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return findings


def lines_of(finding: dict[str, Any], path: str) -> set[int]:
    """Lines of `path` that a finding names: its own, its events', and its witness's conditions, events and calls.

    The linter's paths start at its project root, which may be a folder inside the repository.
    """
    places = [finding, *(finding.get("events") or [])]
    places += [w for w in finding.get("witness") or [] if w.get("role") in ("condition", "event", "call")]
    return {place["line"] for place in places if same_file(place["path"], path)}


def same_file(found: str, path: str) -> bool:
    """Whether a finding's path is `path`: it is relative to the project, which may be a folder below the repository."""
    return f"/{path}".endswith(f"/{found}") or f"/{found}".endswith(f"/{path}")


def touches(lines: Collection[int], wanted: Collection[int]) -> bool:
    return any(abs(a - b) <= SLACK for a in lines for b in wanted)


def judge(case: Case, before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> Outcome:
    """The outcome of a case, given the findings in its file on the buggy and on the fixed commit."""
    hits = [f for f in before if touches(lines_of(f, case.path), case.wanted_lines)]
    stay = [f for f in after if touches(lines_of(f, case.path_after), case.fixed_lines)]
    allowed = CODES[case.category]
    return Outcome(
        id=case.id,
        category=case.category,
        codes=sorted({f["code"] for f in hits}),
        still=sorted({f"{f['code']}:{f['line']}" for f in stay}),
        hit=bool(hits),
        strict=any(allowed is None or f["code"] in allowed for f in hits),
        clean=not stay or case.neutral_fixed,
        noise=len(before) - len(hits),
    )


def run_case(case: Case, mirror: pathlib.Path, trees: pathlib.Path, tool: str, confidence: str | None) -> Outcome:
    try:
        before = lint(tool, tree_at(mirror, trees, case, case.buggy_commit), case.path, confidence)
        after = lint(tool, tree_at(mirror, trees, case, case.fixed_commit), case.path_after, confidence)
        return judge(case, before, after)
    except (CannotRun, OSError, ValueError, KeyError) as error:
        return Outcome(id=case.id, category=case.category, error=f"{type(error).__name__}: {error}"[:300])


def summary_of(outcomes: Sequence[Outcome]) -> Iterable[str]:
    """One line a category, and one for all; a case that could not be run counts as an error, never as solved."""
    rows: dict[str, list[Outcome]] = collections.defaultdict(list)
    for outcome in outcomes:
        rows[outcome.category].append(outcome)

    def row(name: str, of: Sequence[Outcome]) -> str:
        ran = [o for o in of if not o.error]

        def share(of_kind: Callable[[Outcome], bool]) -> str:
            count = sum(map(of_kind, ran))
            return f"{count:4} {count / (len(ran) or 1):4.0%}"

        counts = (
            f"{key} {share(test)}"
            for key, test in (
                ("hit", lambda o: o.hit),
                ("strict", lambda o: o.strict),
                ("clean", lambda o: o.clean),
                ("solved", lambda o: o.solved),
            )
        )
        noise = sum(o.noise for o in ran) / (len(ran) or 1)
        return f"{name:28} n={len(ran):3} errors={len(of) - len(ran):2}  {'  '.join(counts)}  noise/file {noise:.2f}"

    for category in CODES:
        if category in rows:
            yield row(category, rows[category])
    yield row("all", outcomes)


# --- command line


def parser() -> argparse.ArgumentParser:
    main_parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    main_parser.add_argument("--records", type=pathlib.Path, default=RECORDS, help=argparse.SUPPRESS)
    commands = main_parser.add_subparsers(dest="command", required=True)
    half = commands.add_parser("half", help="which half an address belongs to")
    half.add_argument("address", nargs="+", help="the url, or owner/name@FIXED_COMMIT when there is none")
    check = commands.add_parser("check", help="check the records")
    check.add_argument("--mirror", type=pathlib.Path, help="folder with clones as owner+name/repo: check lines too")
    check.add_argument(
        "--show", action="append", default=[], metavar="ID", help="of this case alone, and print its places"
    )
    run = commands.add_parser("run", help="run the linter on one half")
    run.add_argument("--mirror", type=pathlib.Path, required=True, help="folder with clones as owner+name/repo")
    run.add_argument("--half", choices=SETS, required=True)
    run.add_argument("--ids", help="only these cases, separated by commas")
    run.add_argument("--trees", type=pathlib.Path, help="keep the extracted trees here")
    run.add_argument("--jobs", type=int, default=1)
    run.add_argument("--tool", default="ferrule-lint", help="the linter's command")
    run.add_argument("--confidence", choices=CONFIDENCES, help="the linter's --min-confidence")
    run.add_argument("--out", type=pathlib.Path, help="write the outcomes here as JSON")
    return main_parser


def check_records(arguments: argparse.Namespace, cases: dict[str, list[Case]], faults: list[str]) -> int:
    if arguments.mirror:
        for case in itertools.chain(*cases.values()):
            if arguments.show and case.id not in arguments.show:
                continue
            faults += [f"{case.id}: {fault}" for fault in faults_in_clone(arguments.mirror, case)]
            if case.id in arguments.show:
                print("\n".join(shown(arguments.mirror, case)))
    for fault in faults:
        print(fault)
    for name, of_set in cases.items():
        print(f"{name}: {len(of_set)} cases from {len({c.repo for c in of_set})} repositories")
    return 1 if faults else 0


def run_records(arguments: argparse.Namespace, cases: dict[str, list[Case]]) -> int:
    ids = arguments.ids.split(",") if arguments.ids else None
    chosen = [c for c in cases[arguments.half] if ids is None or c.id in ids]
    if unknown := set(ids or ()) - {c.id for c in chosen}:
        raise CannotRun(f"no such case in {arguments.half}: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as scratch:
        trees = arguments.trees.resolve() if arguments.trees else pathlib.Path(scratch)

        def one(case: Case) -> Outcome:
            return run_case(case, arguments.mirror.resolve(), trees, arguments.tool, arguments.confidence)

        # cases of one commit share a tree: extract them all before linting in parallel
        for case in chosen:
            for commit in (case.buggy_commit, case.fixed_commit):
                with contextlib.suppress(CannotRun):  # run_case meets it again and reports it
                    tree_at(arguments.mirror.resolve(), trees, case, commit)
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            outcomes = list(pool.map(one, chosen))
    if arguments.out:
        rows = [asdict(o) | {"solved": o.solved, "verdict": o.verdict} for o in outcomes]
        arguments.out.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    for o in outcomes:
        if not o.solved:
            print(f"{o.verdict:6} {o.category:28} {o.id}", o.error or " ".join(o.codes + o.still))
    print("\n".join(summary_of(outcomes)))
    return 2 if any(o.error for o in outcomes) else 0


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    if arguments.command == "half":
        for address in arguments.address:
            print(half_of(address), address)
        return 0
    cases, faults = read_records(arguments.records)
    try:
        if arguments.command == "check":
            return check_records(arguments, cases, faults)
        if faults:
            raise CannotRun("the records have faults; `check` lists them")
        return run_records(arguments, cases)
    except CannotRun as error:
        print(f"cases.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
