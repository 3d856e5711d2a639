"""FER305: outputs of modules that reach the loss on some ranks only."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ferrule_lint.checks.build import NAMES, span
from ferrule_lint.findings import Confidence, EventSite, Finding, Step
from ferrule_lint.semantics import participation
from ferrule_lint.semantics.frame import Frame


def check(frame: Frame, function: str, reported: Collection[Step]) -> Iterator[Finding]:
    """One finding for each condition; none where the forward itself is reported under one of its sources."""
    path = frame.module.path
    seen: set[str] = set()
    for used in frame.partly_used:
        divergence = used.divergence
        base, _, part = used.output.lstrip("=").replace("~", "").partition("#")
        if base in seen or any(step in reported for step in divergence.why):
            continue
        if used.output[0] == "=" and any(f"`{base}`" in step.note for step in divergence.why):
            continue  # what decides is hardly what is trained
        seen.add(base)
        what = f"an output of `{base}`" if part or used.output[0] == "=" else f"the output of `{base}`"
        message = f"{what} reaches the loss on some ranks only: the others have no backward for it"
        place = used.at or (used.calls[0] if used.calls and used.returned else used.end)
        last = divergence.why[-1]
        decides = Step("condition", last.path, last.line, last.column, "decides which way is taken")
        steps = [decides, *participation.steps(used, path)]
        yield Finding(
            code="FER305",
            name=NAMES["FER305"],
            severity="error",
            confidence=min(Confidence.MEDIUM, divergence.confidence),
            message=message,
            path=path,
            span=span(place),
            axes=tuple(sorted(divergence.axes)),
            kind=divergence.kind,
            function=function,
            witness=(
                *divergence.why,
                *steps,
                Step("event", path, used.end[0], used.end[1], "backward goes through here"),
            ),
            events=tuple(EventSite("backward", path, p[0], p[1], ("dp",), True) for p in (used.calls or (used.end,))),
        )
