"""FER201, FER202 and latent findings: what is wrong with a single call's arguments."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.checks.build import NAMES, span
from ferrule_lint.checks.for_some import is_for_some
from ferrule_lint.findings import Confidence, EventSite, Finding, Step
from ferrule_lint.semantics.walk.frame import CallIssue, Frame

#: through how many hands a size may come: each may make it even, in ways that are not followed
MOST_HANDS = 3


def check(frame: Frame, function: str) -> Iterator[Finding]:
    seen: set[tuple[object, ...]] = set()
    for issue in frame.issues:
        key = (issue.code, issue.pos) if issue.latent is None else (issue.pos, issue.latent.event.op)
        if key in seen:
            continue
        seen.add(key)
        if issue.code == "FER404" and is_for_some(frame):
            continue  # the root, where the others go by another way
        yield _finding(frame, issue, function)


def _finding(frame: Frame, issue: CallIssue, function: str) -> Finding:
    steps: list[Step] = []
    path = frame.module.path
    event = issue.event
    if issue.latent is not None:
        steps.append(Step("call", path, issue.pos[0], issue.pos[1], "passed on here"))
        if issue.latent.needs not in ("shape", "argument"):
            place = issue.latent
            steps.append(Step("condition", place.path, place.pos[0], place.pos[1], f"`{place.text}` decides"))
        through = issue.latent.call
        if through is not None:
            note = f"calls `{through.summary.display}`"
            steps.append(Step("call", through.path, through.pos[0], through.pos[1], note))
    steps.append(Step("event", event.path, event.pos[0], event.pos[1], event.note))
    confidence = min(
        issue.divergence.confidence, event.confidence, Confidence.HIGH if issue.latent is None else Confidence.MEDIUM
    )
    hands = sum(step.role == "call" for step in issue.divergence.why)
    if issue.code == "FER201" and hands > MOST_HANDS:
        confidence = Confidence.LOW
    return Finding(
        code=issue.code,
        name=NAMES[issue.code],
        severity="error",
        confidence=confidence,
        message=issue.message,
        path=path,
        span=span(issue.pos),
        axes=tuple(sorted(issue.divergence.axes)),
        kind=issue.divergence.kind,
        function=function,
        witness=(*issue.divergence.why, *steps),
        events=(EventSite(event.op, event.path, event.pos[0], event.pos[1], tuple(sorted(event.axes)), event.hidden),),
    )
