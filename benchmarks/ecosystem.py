#!/usr/bin/env python3
"""Lint well-known projects at fixed commits, and compare with the record of what was found and judged before.

    python benchmarks/ecosystem.py --mirror DIR               clones as DIR/owner+name/repo
    python benchmarks/ecosystem.py --tree trl=PATH            a tree that is already there
    python benchmarks/ecosystem.py --mirror DIR --update      write the record anew, keeping the judgements

The record is `ecosystem.toml` beside this file; README.md says how to read and judge it. Nothing is downloaded.

Exit code: 0 nothing changed, or the record was updated; 1 there are new or gone findings; 2 something could not be run.
"""

from __future__ import annotations

import argparse
import collections
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

RECORD = pathlib.Path(__file__).with_name("ecosystem.toml")
JUDGEMENTS = ("true", "arguable", "false")
HEADER = """\
# What ferrule-lint finds in projects that people use, and what a person thought of each finding.
# Written by `python benchmarks/ecosystem.py --update`; only `commit`, `judgement` and `why` are edited by hand
# (other comments are lost). judgement: "true", "arguable", "false", or "" while nobody has looked; why: one line.
"""

T = TypeVar("T")


class CannotRun(Exception):
    """A repository, the record or the linter is not as it has to be; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Repository:
    name: str
    #: 40 hex digits; "" where the record names the version of a wheel instead
    commit: str
    wheel: str = ""

    @property
    def folder(self) -> str:
        return self.name.replace("/", "+")


@dataclass(frozen=True, slots=True)
class Entry:
    """One finding of the record. `judgement` is "" until a person has judged it."""

    repo: str
    code: str
    path: str
    line: int
    fingerprint: str
    judgement: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """One finding of a run."""

    code: str
    path: str
    line: int
    fingerprint: str
    message: str


@dataclass(frozen=True, slots=True)
class Result:
    """What the linter said about one repository."""

    version: str
    findings: tuple[Found, ...]
    errors: tuple[str, ...]
    files: int
    lines: int
    seconds: float


@dataclass(slots=True)
class Comparison:
    """The record against a run. A kept finding has the same fingerprint; its line may have moved."""

    kept: list[tuple[Entry, Found]] = field(default_factory=list)
    new: list[tuple[str, Found]] = field(default_factory=list)
    gone: list[Entry] = field(default_factory=list)

    def add(self, other: Comparison) -> None:
        self.kept += other.kept
        self.new += other.new
        self.gone += other.gone


# The record ---------------------------------------------------------------------------------------------------------


def get(table: object, key: str, kind: type[T], where: str) -> T:
    """`table[key]`, which must be of type `kind`."""
    value = table.get(key) if isinstance(table, dict) else None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise CannotRun(f"{where}: `{key}` must be of type {kind.__name__}, not {value!r}")
    return value


def load(text: str) -> tuple[list[Repository], list[Entry]]:
    """The repositories and the findings of a record."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotRun(f"record: {error}") from error
    repositories: list[Repository] = []
    where = "record: repository"
    for item in get({"repository": [], **data}, "repository", list, "record"):
        is_wheel = isinstance(item, dict) and "wheel" in item
        state = get(item, "wheel" if is_wheel else "commit", str, where)
        name = get(item, "name", str, where)
        repository = Repository(name, "", state) if is_wheel else Repository(name, state)
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository.name):
            raise CannotRun(f"record: repository {repository.name!r} is not owner/name")
        if is_wheel and not re.fullmatch(r"[\w.+!]+", state):
            raise CannotRun(f"record: {repository.name}: wheel {state!r} is no version")
        if not is_wheel and not re.fullmatch(r"[0-9a-f]{40}", repository.commit):
            raise CannotRun(f"record: {repository.name}: commit {repository.commit!r} is not 40 hex digits")
        repositories.append(repository)
    names = [r.name for r in repositories]
    if len(set(names)) != len(names):
        raise CannotRun("record: a repository is there twice")
    entries: list[Entry] = []
    for item in get({"finding": [], **data}, "finding", list, "record"):
        where = "record: finding"
        path, line = get(item, "path", str, where), get(item, "line", int, where)
        where = f"record: {path}:{line}"
        entry = Entry(
            repo=get(item, "repo", str, where),
            code=get(item, "code", str, where),
            path=path,
            line=line,
            fingerprint=get(item, "fingerprint", str, where),
            judgement=get(item, "judgement", str, where),
            why=get(item, "why", str, where),
        )
        if entry.repo not in names:
            raise CannotRun(f"{where}: no [[repository]] is called {entry.repo!r}")
        if entry.judgement not in ("", *JUDGEMENTS):
            raise CannotRun(f"{where}: judgement {entry.judgement!r} is none of {', '.join(JUDGEMENTS)}")
        if entry.judgement and not entry.why.strip():
            raise CannotRun(f"{where}: judged {entry.judgement!r} without saying why")
        if len(entry.why.splitlines()) > 1:
            raise CannotRun(f"{where}: `why` is one line")
        entries.append(entry)
    return repositories, entries


def quote(text: str) -> str:
    """`text` as a TOML basic string. Lone surrogates, which no TOML file can hold, become U+FFFD."""
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
    out = []
    for char in text:
        number = ord(char)
        if char in short:
            out.append(short[char])
        elif number < 0x20 or 0x7F <= number <= 0x9F or number in (0x2028, 0x2029):
            out.append(f"\\u{number:04X}")
        else:
            out.append("\ufffd" if 0xD800 <= number <= 0xDFFF else char)
    return '"' + "".join(out) + '"'


def dump(repositories: Sequence[Repository], entries: Iterable[Entry]) -> str:
    """The text of a record, in an order that does not depend on that of the run."""
    order = {r.name: i for i, r in enumerate(repositories)}
    parts = [HEADER]
    for repository in repositories:
        state = f"wheel = {quote(repository.wheel)}" if repository.wheel else f"commit = {quote(repository.commit)}"
        parts.append(f"\n[[repository]]\nname = {quote(repository.name)}\n{state}\n")
    for e in sorted(entries, key=lambda e: (order[e.repo], e.path, e.line, e.code, e.fingerprint)):
        parts.append(
            f"\n[[finding]]\nrepo = {quote(e.repo)}\ncode = {quote(e.code)}\npath = {quote(e.path)}\nline = {e.line}\n"
            f"fingerprint = {quote(e.fingerprint)}\njudgement = {quote(e.judgement)}\nwhy = {quote(e.why)}\n"
        )
    return "".join(parts)


def save(path: pathlib.Path, text: str) -> None:
    """Write `path` so that it is never half written."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8", newline="\n")
    part.replace(path)


# The trees ----------------------------------------------------------------------------------------------------------


def is_wanted(name: str) -> bool:
    return name.endswith((".py", "pyproject.toml"))


def git(repo: pathlib.Path, *args: str) -> bytes:
    # Under a git hook, GIT_DIR and its like name another repository.
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    try:
        done = subprocess.run(["git", "-C", str(repo), *args], capture_output=True, check=False, env=env)
    except OSError as error:
        raise CannotRun(f"git: {error}") from error
    if done.returncode:
        raise CannotRun(f"{repo}: git {args[0]}: {done.stderr.decode(errors='replace').strip()[-300:]}")
    return done.stdout


def extract(repo: pathlib.Path, commit: str, to: pathlib.Path) -> None:
    """Write the Python files and the pyproject.toml files of a commit under `to`; links are left out."""
    if not repo.is_dir():
        raise CannotRun(f"no clone at {repo}")
    names = git(repo, "ls-tree", "-r", "--name-only", "-z", commit).decode(errors="surrogateescape").split("\0")
    # git archive fails for a pattern without a file
    specs = [spec for spec in ("*.py", "*pyproject.toml") if any(name.endswith(spec[1:]) for name in names)]
    if not specs:
        raise CannotRun(f"{repo}: no Python file in commit {commit}")
    with tarfile.open(fileobj=io.BytesIO(git(repo, "archive", "--format=tar", commit, "--", *specs))) as tar:
        for member in tar:
            name = pathlib.PurePosixPath(member.name)
            if not member.isfile() or not is_wanted(name.name) or name.is_absolute() or ".." in name.parts:
                continue
            source = tar.extractfile(member)
            assert source is not None
            target = to.joinpath(*name.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read())


def unpack(folder: pathlib.Path, version: str, to: pathlib.Path) -> None:
    """The same files as `extract`, from the one wheel of this version in a folder."""
    wheels = sorted(folder.glob(f"*-{version}-*.whl"))
    if len(wheels) != 1:
        raise CannotRun(f"{folder}: {len(wheels) or 'no'} wheels of version {version}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        # `extract` leaves out what would lead out of the folder
        wheel.extractall(to, [name for name in wheel.namelist() if is_wanted(name)])


def copy(tree: pathlib.Path, to: pathlib.Path) -> None:
    """The same files as `extract`, from a tree on disk."""
    if not tree.is_dir():
        raise CannotRun(f"no folder at {tree}")
    for folder, folders, names in os.walk(tree):
        folders[:] = [f for f in folders if f != ".git"]
        for name in names:
            source = pathlib.Path(folder, name)
            if is_wanted(name) and source.is_file() and not source.is_symlink():
                target = to / source.relative_to(tree)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)


# The linter ---------------------------------------------------------------------------------------------------------


def parse(text: str) -> Result:
    """The linter's JSON report (version 1)."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise CannotRun(f"the linter's output is no JSON: {error}") from error
    where = "report"
    if (version := get(data, "version", str, where)) != "1":
        raise CannotRun(f"report: version {version!r} is not known")
    findings: list[Found] = []
    for item in get(data, "findings", list, where):
        found = Found(
            code=get(item, "code", str, where),
            path=get(item, "path", str, where),
            line=get(item, "line", int, where),
            fingerprint=get(item, "fingerprint", str, where),
            message=get(item, "message", str, where),
        )
        if found.path.startswith(("/", "../")) or "\\" in found.path:
            raise CannotRun(f"report: {found.path!r} is no relative posix path")
        if not found.fingerprint:
            raise CannotRun(f"report: {found.path}:{found.line}: no fingerprint")
        findings.append(found)
    errors = []
    for item in get(data, "errors", list, where):
        place = f"{get(item, 'path', str, where)}:{get(item, 'line', int, where)}"
        errors.append(f"{place}: {get(item, 'message', str, where)}")
    summary = get(data, "summary", dict, where)
    seconds = summary.get("seconds")
    return Result(
        version=get(data, "tool_version", str, where),
        findings=tuple(findings),
        errors=tuple(errors),
        files=get(summary, "files", int, where),
        lines=get(summary, "lines", int, where),
        seconds=float(seconds) if isinstance(seconds, (int, float)) else 0.0,
    )


def lint(tool: Sequence[str], tree: pathlib.Path, timeout: float) -> str:
    """The linter's report on a tree, as text."""
    command = [*tool, "--output-format", "json", "--exit-zero", "."]
    try:
        done = subprocess.run(command, cwd=tree, capture_output=True, check=False, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRun(f"{shlex.join(command)}: {error}") from error
    if done.returncode:
        tail = done.stderr.decode(errors="replace").strip()[-500:]
        raise CannotRun(f"{shlex.join(command)}: exit code {done.returncode}: {tail}")
    return done.stdout.decode(errors="replace")


# The comparison -----------------------------------------------------------------------------------------------------


def compare(repo: str, recorded: Iterable[Entry], found: Iterable[Found]) -> Comparison:
    """Pair the findings of one repository by fingerprint.

    Where several share one (the same call twice in a function), those on the same line are paired first, then the
    rest in the order of lines.
    """
    old: dict[str, list[Entry]] = collections.defaultdict(list)
    for entry in sorted(recorded, key=lambda e: (e.path, e.line)):
        old[entry.fingerprint].append(entry)
    now: dict[str, list[Found]] = collections.defaultdict(list)
    for finding in sorted(found, key=lambda f: (f.path, f.line)):
        now[finding.fingerprint].append(finding)
    out = Comparison()
    for fingerprint in sorted(old.keys() | now.keys()):
        entries, findings = old.get(fingerprint, []), now.get(fingerprint, [])
        for entry in list(entries):
            same = next((f for f in findings if (f.path, f.line) == (entry.path, entry.line)), None)
            if same is not None:
                out.kept.append((entry, same))
                entries.remove(entry)
                findings.remove(same)
        both = min(len(entries), len(findings))
        out.kept += zip(entries[:both], findings[:both], strict=True)
        out.new += [(repo, f) for f in findings[both:]]
        out.gone += entries[both:]
    out.kept.sort(key=lambda pair: (pair[1].path, pair[1].line, pair[1].code))
    out.new.sort(key=lambda pair: (pair[1].path, pair[1].line, pair[1].code))
    out.gone.sort(key=lambda e: (e.path, e.line, e.code))
    return out


def updated(comparison: Comparison, *, by_place: bool = False) -> list[Entry]:
    """The entries of the new record: kept ones with their judgements, new ones without.

    With `by_place`, a new finding takes over the judgement of the one gone finding with its code, path and line.
    """
    out = [replace(e, code=f.code, path=f.path, line=f.line, fingerprint=f.fingerprint) for e, f in comparison.kept]
    gone = collections.defaultdict(list)
    new = collections.Counter((repo, f.code, f.path, f.line) for repo, f in comparison.new)
    for entry in comparison.gone:
        gone[entry.repo, entry.code, entry.path, entry.line].append(entry)
    for repo, f in comparison.new:
        place = (repo, f.code, f.path, f.line)
        entry = Entry(repo, f.code, f.path, f.line, f.fingerprint)
        if by_place and new[place] == 1 and len(gone[place]) == 1:
            entry = replace(gone[place][0], fingerprint=f.fingerprint)
        out.append(entry)
    return out


# The output ---------------------------------------------------------------------------------------------------------


def rate(count: int, lines: int) -> str:
    """Findings per 10,000 lines."""
    return f"{count * 10_000 / lines:.2f}" if lines else "-"


def table(codes: Iterable[str], judgements: Mapping[str, Mapping[str, int]], lines: int) -> list[str]:
    """One line a rule: findings, per 10,000 lines, and how they were judged."""
    total: collections.Counter[str] = collections.Counter()
    rows: list[tuple[str, ...]] = [("rule", "findings", "per 10k", *JUDGEMENTS, "unjudged")]
    for code in sorted(set(codes)):
        counts = judgements[code]
        total.update(counts)
        number = sum(counts.values())
        cells = [str(counts.get(j, 0)) for j in (*JUDGEMENTS, "")]
        rows.append((code, str(number), rate(number, lines), *cells))
    number = total.total()
    rows.append(("all", str(number), rate(number, lines), *(str(total[j]) for j in (*JUDGEMENTS, ""))))
    return ["  " + row[0].ljust(8) + "".join(cell.rjust(10) for cell in row[1:]) for row in rows]


def judged(comparison: Comparison) -> dict[str, collections.Counter[str]]:
    """Per rule, how many of the findings of the run have which judgement."""
    out: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for entry, found in comparison.kept:
        out[found.code][entry.judgement] += 1
    for _, found in comparison.new:
        out[found.code][""] += 1
    return out


def show(results: Mapping[str, tuple[Repository, Result, Comparison]]) -> Comparison:
    """Print the tables and the lists; the comparison of all repositories together."""
    every = Comparison()
    for repository, result, comparison in results.values():
        every.add(comparison)
        print(
            f"{repository.name} @ {repository.wheel or repository.commit[:12]}: "
            f"{len(result.findings)} findings in {result.files} files, "
            f"{result.lines} lines ({result.seconds:.1f} s, ferrule-lint {result.version})"
        )
        by_rule = judged(comparison)
        print("\n".join(table(by_rule, by_rule, result.lines)))
        if result.errors:
            print(f"  {len(result.errors)} files with errors:")
            print("\n".join(f"    {e}" for e in result.errors))
        print()
    if len(results) > 1:
        by_rule = judged(every)
        lines = sum(result.lines for _, result, _ in results.values())
        print(f"all {len(results)} repositories: {lines} lines")
        print("\n".join(table(by_rule, by_rule, lines)))
        print()
    unjudged = [(e.repo, f) for e, f in every.kept if not e.judgement]
    for title, rows in (("new", every.new), ("unjudged before", unjudged)):
        if rows:
            print(f"{title} ({len(rows)}):")
            for repo, f in rows:
                print(f"  {repo} {f.path}:{f.line} {f.code} {f.fingerprint}: {f.message}")
    if every.gone:
        print(f"gone ({len(every.gone)}):")
        for e in every.gone:
            verdict = f"{e.judgement}: {e.why}" if e.judgement else "unjudged"
            print(f"  {e.repo} {e.path}:{e.line} {e.code} {e.fingerprint}: {verdict}")
    moved = sum((e.path, e.line) != (f.path, f.line) for e, f in every.kept)
    print(
        f"{len(every.new)} new, {len(every.gone)} gone, {moved} moved, "
        f"{len(unjudged) + len(every.new)} unjudged of {len(every.kept) + len(every.new)}"
    )
    return every


# The command --------------------------------------------------------------------------------------------------------


def pick(repositories: Sequence[Repository], name: str) -> Repository:
    """The repository called `name`: owner/name, owner+name, or the last part where only one has it."""
    full = [r for r in repositories if name in (r.name, r.folder)]
    found = full or [r for r in repositories if r.name.split("/")[1] == name]
    if len(found) != 1:
        known = ", ".join(r.name for r in repositories)
        raise CannotRun(f"{name!r} is {'no' if not found else 'more than one'} repository of the record ({known})")
    return found[0]


def run_one(repository: Repository, args: argparse.Namespace, tree: pathlib.Path | None) -> Result:
    if args.reports is not None:
        try:
            return parse((args.reports / f"{repository.folder}.json").read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise CannotRun(f"report: {error}") from error
    with tempfile.TemporaryDirectory(prefix="ferrule-ecosystem-") as folder:
        root = pathlib.Path(folder, repository.folder)
        root.mkdir()
        if tree is not None:
            copy(tree, root)
        elif args.mirror is not None and repository.wheel:
            unpack(args.mirror / repository.folder, repository.wheel, root)
        elif args.mirror is not None:
            extract(args.mirror / repository.folder / "repo", repository.commit, root)
        else:
            raise CannotRun("neither --mirror nor --tree says where it is")
        if not (root / "pyproject.toml").exists():
            (root / "pyproject.toml").touch()  # the project ends here, whatever lies above the temporary folder
        text = lint(shlex.split(args.tool), root, args.timeout)
    if args.save is not None:
        args.save.mkdir(parents=True, exist_ok=True)
        (args.save / f"{repository.folder}.json").write_text(text, encoding="utf-8")
    return parse(text)


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--mirror", type=pathlib.Path, metavar="DIR", help="clones of the repositories as DIR/owner+name/repo")
    add("--tree", action="append", default=[], metavar="NAME=PATH", help="a tree that is already there, taken as it is")
    add("--only", action="append", default=[], metavar="NAME", help="run this repository only (may be repeated)")
    add("--tool", default="ferrule-lint", metavar="CMD", help="the linter (default: %(default)s)")
    add("--timeout", type=float, default=1800.0, metavar="SECONDS", help="for one repository (default: %(default)g)")
    add("--record", type=pathlib.Path, default=RECORD, metavar="FILE", help="default: ecosystem.toml beside this file")
    add("--save", type=pathlib.Path, metavar="DIR", help="keep the linter's reports as DIR/owner+name.json")
    add("--reports", type=pathlib.Path, metavar="DIR", help="lint nothing: compare what --save DIR has kept")
    add("--update", action="store_true", help="write the record anew; judgements stay with their fingerprints")
    by_place = (
        "with --update, where the fingerprint itself has changed and the commit has not: a new finding takes over "
        "the judgement of the gone one with the same code, path and line"
    )
    add("--by-place", action="store_true", help=by_place)
    args = parser.parse_args(argv)
    if args.mirror is None and args.reports is None and not args.tree:
        parser.error("say where the repositories are: --mirror DIR, --tree NAME=PATH or --reports DIR")
    if args.by_place and not args.update:
        parser.error("--by-place needs --update")
    return args


def run(args: argparse.Namespace) -> int:
    try:
        text = args.record.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRun(f"record: {error}") from error
    repositories, entries = load(text)
    trees: dict[str, pathlib.Path] = {}
    for item in args.tree:
        name, equals, path = item.partition("=")
        if not equals or not path:
            raise CannotRun(f"--tree {item}: expected NAME=PATH")
        trees[pick(repositories, name).name] = pathlib.Path(path)
    # without a mirror, the trees say which repositories are meant
    chosen = {pick(repositories, n).name for n in args.only} or {
        r.name for r in repositories if args.mirror is not None or args.reports is not None or r.name in trees
    }
    results: dict[str, tuple[Repository, Result, Comparison]] = {}
    failures: list[str] = []
    for repository in repositories:
        if repository.name not in chosen:
            continue
        try:
            result = run_one(repository, args, trees.get(repository.name))
        except CannotRun as error:
            failures.append(f"{repository.name}: {error}")
            continue
        recorded = [e for e in entries if e.repo == repository.name]
        results[repository.name] = (repository, result, compare(repository.name, recorded, result.findings))
    every = show(results)
    if args.update:
        untouched = [e for e in entries if e.repo not in results]
        save(args.record, dump(repositories, [*untouched, *updated(every, by_place=args.by_place)]))
        print(f"wrote {args.record}")
    for failure in failures:
        print(f"could not run: {failure}", file=sys.stderr)
    if failures:
        return 2
    return int(bool(every.new or every.gone) and not args.update)


def main(argv: Sequence[str] | None = None) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a message may quote what no terminal can show
    try:
        return run(options(argv))
    except CannotRun as error:
        print(f"ecosystem.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
