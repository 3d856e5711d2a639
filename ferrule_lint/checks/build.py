"""Findings from differences: code, message, confidence and witness."""

from __future__ import annotations

from collections.abc import Sequence

from ferrule_lint.facts.types import Pos
from ferrule_lint.findings import Confidence, EventSite, Finding, Span, Step
from ferrule_lint.semantics.divergence.compare import Occurrence
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.trace import CallTerm, Event, parts, same_event

NAMES = {
    "FER001": "syntax-error",
    "FER002": "unused-suppression",
    "FER101": "sharded-forward-in-divergent-branch",
    "FER102": "collective-in-divergent-branch",
    "FER103": "collective-after-divergent-exit",
    "FER104": "collective-in-divergent-loop",
    "FER107": "optional-input-forward",
    "FER105": "collective-skipped-by-exception",
    "FER106": "divergent-iteration-order",
    "FER108": "unordered-threads",
    "FER201": "unpadded-tensor-in-gather",
    "FER202": "rank-local-padding",
    "FER301": "stage-branch-missing-broadcast",
    "FER302": "stage-local-value-reduced",
    "FER303": "unmatched-send-recv",
    "FER304": "unmatched-gradient-sync",
    "FER401": "group-created-on-some-ranks",
    "FER402": "group-rank-as-global-rank",
    "FER403": "group-left-out",
    "FER404": "divergent-argument",
}
_MOST_EVENTS = 20


def span(pos: Pos) -> Span:
    return Span(*pos)


def place(occurrence: Occurrence) -> tuple[str, Pos]:
    term = occurrence.call or occurrence.event
    return term.path, term.pos


#: operations with a root: who compares the rank with it leaves out those whom it sends to
_ROOTED = frozenset({"broadcast", "scatter", "gather", "reduce", "broadcast_object_list", "gather_object"})


def confidence_of(divergence: Divergence, occurrences: Sequence[Occurrence]) -> Confidence:
    """The weakest link: the source, or the surest of the events (through the call that leads to it).

    That some tensor of a module differs, and that the module is sharded: of two guesses one is wrong.
    """
    if divergence.unnamed and all(o.event.assumed for o in occurrences):
        return Confidence.LOW
    if divergence.leads and all(o.event.op not in _ROOTED and "world" not in o.event.axes for o in occurrences):
        return Confidence.LOW  # the leaders of some groups, who meet in another one
    best = max(min(o.event.confidence, o.call.confidence if o.call else Confidence.HIGH) for o in occurrences)
    return min(divergence.confidence, best)


def event_steps(occurrence: Occurrence) -> list[Step]:
    """The last steps of a witness: the call, then the event it leads to."""
    steps: list[Step] = []
    event = occurrence.event
    if occurrence.call is not None:
        term = occurrence.call
        steps.append(Step("call", term.path, term.pos[0], term.pos[1], f"calls `{term.summary.display}`"))
        steps += _descent(occurrence.call, event)
    steps.append(Step("event", event.path, event.pos[0], event.pos[1], event.note))
    return steps


def _descent(call: CallTerm, event: Event) -> list[Step]:
    """The calls between a call and the event it leads to."""
    steps: list[Step] = []
    current: CallTerm | None = call
    for _ in range(8):
        if current is None:
            break
        found: CallTerm | None = None
        stack = list(current.summary.trace)
        while stack:
            term = stack.pop(0)
            if type(term) is Event and same_event(term, event):
                return steps
            if type(term) is CallTerm and any(same_event(e, event) for e in term.summary.events):
                found = term
                break
            stack = [*parts(term), *stack]
        if found is not None:
            note = f"calls `{found.summary.display}`"
            steps.append(Step("call", found.path, found.pos[0], found.pos[1], note))
        current = found
    return steps


def finding(
    code: str,
    message: str,
    divergence: Divergence,
    occurrences: Sequence[Occurrence],
    middle: Sequence[Step],
    function: str,
    confidence: Confidence,
) -> Finding:
    """A finding at the first of the occurrences; `middle` stands between the source and the event."""
    first = occurrences[0]
    path, pos = place(first)
    sites = []
    for occurrence in occurrences[:_MOST_EVENTS]:
        where, at = place(occurrence)
        event, through = occurrence.event, "" if occurrence.call is None else occurrence.call.summary.display
        axes = tuple(sorted(event.axes))
        sites.append(EventSite(event.op, where, at[0], at[1], axes, event.hidden, through, event.module))
    return Finding(
        code=code,
        name=NAMES[code],
        severity="error",
        confidence=confidence,
        message=message,
        path=path,
        span=span(pos),
        axes=tuple(sorted(divergence.axes)),
        kind=divergence.kind,
        function=function,
        witness=(*divergence.why, *middle, *event_steps(first)),
        events=tuple(sites),
    )
