"""What git says has changed since a revision, and which findings that concerns."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ferrule_lint.findings import Finding, Report

_HUNK = re.compile(rb"@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_PATTERNS = ("*.py", "*.ipynb")
#: a range that ends with the file
_TO_THE_END = 2**31


class ChangesError(Exception):
    """Git cannot tell; the message says why."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changed lines and former contents, by path relative to the project's root."""

    #: ranges of lines that are new or changed, both ends included
    lines: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    #: what the changed files were; empty for one that was not there
    before: Mapping[str, bytes] = field(default_factory=dict)
    #: files that had another name
    renamed: frozenset[str] = frozenset()

    def touch(self, finding: Finding) -> bool:
        """Whether a changed line is part of the finding: its call, its witness or one of its events."""
        span = finding.span
        places = [(finding.path, span.line, max(span.line, span.end_line))]
        places += [(step.path, step.line, step.line) for step in finding.witness]
        places += [(event.path, event.line, event.line) for event in finding.events]
        return any(
            first <= until and start <= last
            for path, start, until in places
            for first, last in self.lines.get(path, ())
        )


def changes_since(root: Path, revision: str | None) -> Changes:
    """The changes from where the work left `revision` to the files as they are; of `None`, from the last commit."""
    base = _base(root, revision)
    options = ["--no-color", "--no-ext-diff", "--no-textconv", "--relative", "-M", base, "--", *_PATTERNS]
    files = list(_files(_git(root, "diff", "--name-status", "-z", *options)))
    patches = _git(root, "diff", "-U0", "--inter-hunk-context=0", *options)
    sections = re.split(rb"^diff --git ", patches, flags=re.MULTILINE)[1:]
    lines = {
        new: tuple(_ranges(section)) for (_, _, new), section in zip(files, sections, strict=True) if new is not None
    }
    untracked = _names(_git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", *_PATTERNS))
    lines |= {path: ((1, _TO_THE_END),) for path in untracked}
    # the lines of a notebook are not those of its code
    lines |= {path: ((1, _TO_THE_END),) for path in lines if path.endswith(".ipynb")}
    old = {name for _, name, _ in files if name is not None}
    before = {new: b"" for _, _, new in files if new is not None} | dict.fromkeys(untracked, b"")
    before |= _contents(root, base, sorted(old))
    renamed = frozenset(new for _, name, new in files if new is not None and name not in (None, new))
    return Changes(lines, before, renamed)


def concerned(report: Report, changes: Changes, before: Iterable[Finding]) -> Report:
    """The report with the findings only that lie in changed lines, or that were not there `before`."""
    known = {finding.fingerprint for finding in before}

    def is_concerned(finding: Finding) -> bool:
        # in a file that had another name everything seems new
        return changes.touch(finding) or (finding.fingerprint not in known and finding.path not in changes.renamed)

    findings = tuple(finding for finding in report.findings if is_concerned(finding))
    statistics = {**report.statistics, "findings_not_of_the_change": len(report.findings) - len(findings)}
    return replace(report, findings=findings, statistics=statistics)


def _is_shallow(root: Path) -> bool:
    try:
        return _git(root, "rev-parse", "--is-shallow-repository").strip() == b"true"
    except ChangesError:
        return False


def _base(root: Path, revision: str | None) -> str:
    try:
        _git(root, "rev-parse", "--git-dir")
    except ChangesError:
        raise ChangesError(f"{root} is not in a git repository") from None
    name = "HEAD" if revision is None else revision
    try:
        commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except ChangesError:
        if revision is None:
            raise ChangesError("there is no commit yet") from None
        hint = "; a shallow clone has the newest commits only" if _is_shallow(root) else ""
        raise ChangesError(f"there is no revision {revision!r} here{hint}") from None
    base = commit.decode().strip()
    if revision is None:
        return base
    try:
        return _git(root, "merge-base", base, "HEAD").decode().strip()
    except ChangesError:
        # no common history, or not enough of it here
        return base


def _git(root: Path, *args: str, given: bytes | None = None) -> bytes:
    command = ["git", "-c", "core.quotepath=off", "-c", "diff.noprefix=false", *args]
    try:
        done = subprocess.run(command, cwd=root, input=given, capture_output=True, check=False)
    except OSError as error:
        raise ChangesError(f"git cannot be run: {error.strerror or error}") from None
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip().splitlines()
        raise ChangesError(f"git {args[0]}: {message[0] if message else f'exit code {done.returncode}'}")
    return done.stdout


def _names(output: bytes) -> list[str]:
    return [name.decode(errors="surrogateescape") for name in output.split(b"\0") if name]


def _files(output: bytes) -> Iterator[tuple[str, str | None, str | None]]:
    """(status, name before, name now) of each file; None where it is not there."""
    words = iter(_names(output))
    for word in words:
        status = word[0]
        name = next(words)
        if status in "RC":
            yield status, name if status == "R" else None, next(words)
        else:
            yield status, None if status == "A" else name, None if status == "D" else name


def _ranges(section: bytes) -> Iterator[tuple[int, int]]:
    for match in _HUNK.finditer(section):
        first, count = int(match[1]), int(match[2] or b"1")
        # where lines were only taken away, those on both sides have changed
        yield (first, first + count - 1) if count else (max(first, 1), first + 1)


def _contents(root: Path, base: str, paths: list[str]) -> dict[str, bytes]:
    """What files were in the commit `base`."""
    askable = [path for path in paths if "\n" not in path]
    asked = "".join(f"{base}:./{path}\n" for path in askable).encode(errors="surrogateescape")
    output = _git(root, "cat-file", "--batch", given=asked) if askable else b""
    contents = {}
    place = 0
    for path in askable:
        end = output.index(b"\n", place)
        head = output[place:end].split()
        place = end + 1
        if head[-1].isdigit():
            size = int(head[-1])
            contents[path] = output[place : place + size]
            place += size + 1
    return contents
