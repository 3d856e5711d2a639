"""Fixes are checked by applying them: the result parses, the finding is gone, and no new one is there."""

from __future__ import annotations

import io
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ferrule_lint.findings import Edit, Finding, Fix
from ferrule_lint.fixes.edits import together
from ferrule_lint.fixes.text import SourceText

#: the anchored findings that files would have with these contents; raises SyntaxError if one does not parse
Recheck = Callable[[Mapping[str, bytes]], Sequence[Finding]]
Read = Callable[[str], bytes]

#: forms that are about comments
COMMENTS = frozenset({"remove-suppression"})

#: how often the analysis runs to tell good fixes from bad ones, in one round
MOST_CHECKS = 6


@dataclass(frozen=True, slots=True)
class Dropped:
    """A fix that was not good, and why."""

    finding: Finding
    reason: str


def verified(
    findings: Sequence[Finding], read: Read, recheck: Recheck, most: int = MOST_CHECKS
) -> tuple[list[Finding], list[Dropped]]:
    """`findings` with those of their fixes that hold; what was dropped. No more than `most` runs of the analysis.

    All fixes of a file are tried at once. Where that fails, half of them are, until the bad one is alone.
    """
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    waiting = {path: _fixes(here) for path, here in by_path.items()}
    waiting = {path: fixes for path, fixes in waiting.items() if fixes}
    good: set[tuple[str, Fix]] = set()
    bad: dict[tuple[str, Fix], str] = {}
    #: by file, fixes of which one at least is bad beside those that are good, and what was said against them
    suspects: dict[str, tuple[list[Fix], str]] = {}
    for _ in range(most):
        if not waiting:
            break
        tried = {
            path: suspects[path][0][: len(suspects[path][0]) // 2] if path in suspects else together(fixes)[0]
            for path, fixes in waiting.items()
        }
        reasons = _try(by_path, tried, read, recheck)
        for path, fixes in tried.items():
            reason = reasons.get(path, "")
            if reason and len(fixes) > 1:
                suspects[path] = fixes, reason
                continue
            among, against = suspects.pop(path, ([], ""))
            if not reason:
                good.update((path, fix) for fix in fixes)
                among = [fix for fix in among if fix not in fixes]
                if len(among) > 1:
                    suspects[path] = among, against
            # one that is left holds with none of the others, whatever it does alone
            wrong = fixes if reason else among if len(among) == 1 else []
            bad.update({(path, fix): reason or against for fix in wrong})
            waiting[path] = [fix for fix in waiting[path] if fix not in wrong and (path, fix) not in good]
        waiting = {path: fixes for path, fixes in waiting.items() if fixes}
    for path, fixes in waiting.items():
        bad.update({(path, fix): "too many fixes in one file to check them all" for fix in fixes})
    kept: list[Finding] = []
    dropped: list[Dropped] = []
    for finding in findings:
        if finding.fix is None or (finding.path, finding.fix) in good:
            kept.append(finding)
        else:
            kept.append(replace(finding, fix=None))
            dropped.append(Dropped(finding, bad[finding.path, finding.fix]))
    return kept, dropped


def _fixes(findings: Sequence[Finding]) -> list[Fix]:
    return list(dict.fromkeys(finding.fix for finding in findings if finding.fix is not None))


def _try(
    by_path: Mapping[str, Sequence[Finding]], tried: Mapping[str, Sequence[Fix]], read: Read, recheck: Recheck
) -> dict[str, str]:
    """What is wrong with each file's fixes, if anything is."""
    reasons: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    for path, fixes in tried.items():
        try:
            data = read(path)
            result = SourceText(data).edited(together(fixes)[1])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what Python thinks of the linted code is its owner's business
                compile(result, path, "exec", dont_inherit=True)
        except (OSError, SyntaxError, ValueError, LookupError, tokenize.TokenError) as error:
            reasons[path] = f"its result is not a Python file ({type(error).__name__})"
            continue
        meant = SourceText(data).edited(together(fix for fix in fixes if fix.form in COMMENTS)[1])
        if _comments(meant) - _comments(result):
            reasons[path] = "it would lose a comment"
            continue
        contents[path] = result
    if not contents:
        return reasons
    after: dict[str, list[Finding]] = {path: [] for path in contents}
    for finding in recheck(contents):
        if finding.path in after:
            after[finding.path].append(finding)
    for path, found in after.items():
        if reason := _compared(by_path[path], found, tried[path]):
            reasons[path] = reason
    return reasons


def _compared(before: Sequence[Finding], after: Sequence[Finding], fixes: Sequence[Fix]) -> str:
    """What the findings of a file after `fixes` say against them; "" if nothing does."""
    known = Counter(_key(finding) for finding in before)
    fixed = Counter(_key(finding) for finding in before if finding.fix in fixes)
    now = Counter(_key(finding) for finding in after)
    # a finding whose line the fix of another one has changed is another one by its fingerprint alone
    edits = together(fixes)[1]
    kept = [_places(one, edits) for one in before if one.fix not in fixes and not now[_key(one)]]
    for finding in after:
        if now[_key(finding)] > known[_key(finding)]:
            same = next((places for places in kept if places & _places(finding, ())), None)
            if same is None:
                what = finding.anchor_text or finding.message
                return f"it would lead to another finding ({finding.code} at {what})"
            kept.remove(same)
            now[_key(finding)] -= 1
    return "the finding would still be there" if now - (known - fixed) else ""


def _places(finding: Finding, edits: Sequence[Edit]) -> set[tuple[str, str, str, int]]:
    """What tells a finding from the others of its function: its line, and that of the test or loop that decides."""
    lines = {"finding": finding.span.line}
    if finding.condition_span is not None:
        lines["condition"] = finding.condition_span.line
    return {(what, finding.code, finding.function, _moved(line, edits)) for what, line in lines.items()}


def _moved(line: int, edits: Sequence[Edit]) -> int:
    """Where a line is after edits that do not begin above it and end below it."""
    more = [
        edit.text.count("\n") - (edit.span.end_line - edit.span.line)
        for edit in edits
        if (edit.span.end_line, edit.span.end_column) <= (line, 1)
    ]
    return line + sum(more)


def _comments(source: bytes) -> Counter[str]:
    tokens = tokenize.tokenize(io.BytesIO(source).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def _key(finding: Finding) -> str:
    return finding.fingerprint
