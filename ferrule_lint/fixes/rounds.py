"""Fixes in rounds: what was fixed can bring up the next fix, and fixes that touch each other wait for one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ferrule_lint.findings import Finding
from ferrule_lint.fixes.edits import together
from ferrule_lint.fixes.text import SourceText
from ferrule_lint.fixes.verify import Dropped, Read, Recheck, verified

#: rounds after which no more is changed
MOST_ROUNDS = 8


@dataclass(slots=True)
class Repair:
    """What fixing came to: new contents by path, the findings that are left, what was applied and what was dropped."""

    contents: dict[str, bytes] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    applied: list[Finding] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    rounds: int = 0


def offer(
    findings: Sequence[Finding],
    read: Read,
    recheck: Recheck,
    first: str = "",
    note: Callable[[str, str], None] = lambda path, other: None,
) -> tuple[list[Finding], list[Dropped]]:
    """Anchored findings, with a fix where there is one that holds; where several forms fit, `first` comes first.

    `note` is told which other files were looked at for the fixes of a file.
    """
    # the forms load libcst
    from ferrule_lint.fixes.propose import propose

    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    proposed: list[Finding] = []
    for path, here in by_path.items():
        try:
            proposed += propose(read(path), here, partial(_noted, read, partial(note, path)), first)
        except OSError:
            proposed += here
    return verified(proposed, read, recheck)


def _noted(read: Read, note: Callable[[str], None], path: str) -> bytes:
    note(path)
    return read(path)


def repair(
    findings: Sequence[Finding],
    read: Read,
    recheck: Recheck,
    wanted: Callable[[Finding], bool],
    first: str = "",
) -> Repair:
    """Apply the fixes that are `wanted` until there are no more. Nothing is written.

    `findings` come with their fixes (see `offer`); `recheck` is given all contents that differ from what `read` says.
    """
    result = Repair(findings=list(findings))

    def current(path: str) -> bytes:
        return result.contents[path] if path in result.contents else read(path)

    for _ in range(MOST_ROUNDS):
        chosen = [finding for finding in result.findings if finding.fix is not None and wanted(finding)]
        if not chosen:
            break
        by_path: dict[str, list[Finding]] = {}
        for finding in chosen:
            by_path.setdefault(finding.path, []).append(finding)
        for path, here in by_path.items():
            fixes, edits = together(dict.fromkeys(one.fix for one in here if one.fix is not None))
            result.contents[path] = SourceText(current(path)).edited(edits)
            result.applied += [finding for finding in here if finding.fix in fixes]
        result.rounds += 1
        changed = {path: result.contents[path] for path in by_path}
        later = list(recheck({**result.contents, **changed}))
        untouched = [finding for finding in result.findings if finding.path not in result.contents]
        offered, dropped = offer(later, current, lambda contents: recheck({**result.contents, **contents}), first)
        result.findings = [*untouched, *offered]
        result.dropped += dropped
    return result
