"""Findings and the comments that suppress them; comments that suppress nothing (FER002)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ferrule_lint.facts.types import SuppressionComment
from ferrule_lint.findings import Confidence, Finding, Span, Suppression
from ferrule_lint.project.selection import UNUSED_SUPPRESSION as UNUSED
from ferrule_lint.project.values import code_meant

NAME = "unused-suppression"

Comments = Mapping[str, Sequence[SuppressionComment]]


@dataclass(slots=True)
class Matched:
    """What is left of the findings, what was suppressed, and what is wrong with the comments."""

    kept: list[Finding] = field(default_factory=list)
    suppressed: list[Finding] = field(default_factory=list)


def match(
    findings: Iterable[Finding],
    comments: Comments,
    *,
    names: Mapping[str, str],
    looked_for: Callable[[str, str], bool],
    requires_reason: Callable[[str], bool],
) -> Matched:
    """Apply the `comments` of each path to `findings`, which are those before any choice by confidence.

    `names` are those of all rules, by their codes. A comment is unused only if `looked_for(code, path)`: a rule that
    was not selected cannot have found what the comment is there for.
    """
    result = Matched()
    used: set[tuple[str, SuppressionComment]] = set()
    _apply(findings, comments, used, result)
    problems: list[Finding] = []
    for path, ones in comments.items():
        problems += _problems(path, ones, used, names, looked_for, requires_reason)
    # these can be suppressed in turn, by a comment that names FER002 and is then in use
    _apply(problems, comments, used, result)
    for path, ones in comments.items():
        if looked_for(UNUSED, path):
            result.kept += [_unused(path, one) for one in ones if one.code == UNUSED and (path, one) not in used]
    return result


def _apply(
    findings: Iterable[Finding], comments: Comments, used: set[tuple[str, SuppressionComment]], result: Matched
) -> None:
    for finding in findings:
        matching = [one for one in comments.get(finding.path, ()) if _covers(one, finding)]
        if not matching:
            result.kept.append(finding)
            continue
        used.update((finding.path, one) for one in matching)
        nearest = min(matching, key=lambda one: one.last - one.first)
        suppression = Suppression(nearest.form, finding.path, nearest.line, nearest.text)
        result.suppressed.append(replace(finding, suppression=suppression))


def _covers(comment: SuppressionComment, finding: Finding) -> bool:
    """Whether the comment counts where the finding, or a condition that leads to it, stands."""
    if comment.code != finding.code:
        return False
    lines = [finding.span.line]
    lines += [step.line for step in finding.witness if step.role == "condition" and step.path == finding.path]
    return any(comment.first <= line <= comment.last for line in lines)


def _problems(
    path: str,
    comments: Sequence[SuppressionComment],
    used: Collection[tuple[str, SuppressionComment]],
    names: Mapping[str, str],
    looked_for: Callable[[str, str], bool],
    requires_reason: Callable[[str], bool],
) -> Iterable[Finding]:
    for one in comments:
        if one.form == "malformed":
            yield _finding(path, one, f"not a suppression: {one.text}", one.text)
        elif one.form == "misplaced":
            yield _finding(path, one, f"states nothing: {one.text}", one.text)
        elif one.code not in names:
            meant = code_meant(one.code, names)
            hint = f"; did you mean {meant}?" if meant else ""
            if any(code.startswith(one.code) for code in names):
                # settings take those
                hint = ": a comment names each rule by its whole code"
            yield _finding(path, one, f"`{one.code}` is suppressed, but there is no such rule{hint}", one.code)
        elif one.code == UNUSED:
            continue
        elif (path, one) not in used:
            if looked_for(one.code, path):
                yield _unused(path, one)
        elif requires_reason(path) and not one.text:
            yield _finding(path, one, f"the suppression of {one.code} gives no reason", f"{one.code} without reason")


def _unused(path: str, one: SuppressionComment) -> Finding:
    where = {
        "file": "in this file",
        "block": "in this block",
        "ignore": "here",
        "noqa": "here",
    }[one.form]
    return _finding(path, one, f"unused suppression: there is no {one.code} {where}", f"{one.form} {one.code}")


def _finding(path: str, one: SuppressionComment, message: str, text: str) -> Finding:
    return Finding(
        code=UNUSED,
        name=NAME,
        severity="warning",
        confidence=Confidence.HIGH,
        message=message,
        path=path,
        span=Span(one.line, one.column, one.line, one.end_column),
        anchor_text=text,
    )
