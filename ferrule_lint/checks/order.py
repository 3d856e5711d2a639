"""FER106: events in an order that ranks do not share."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.checks.build import confidence_of, finding
from ferrule_lint.findings import Confidence, Finding, Step
from ferrule_lint.semantics.divergence.compare import Comparison, Occurrence, first_in_order
from ferrule_lint.semantics.divergence.ruled_out import RuledOut
from ferrule_lint.semantics.divergence.signatures import issues
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Loop, Trace, choices_and_loops, parts

#: by these a rank learns what another one is going to send
_ANNOUNCING = ("broadcast_object_list", "scatter_object_list", "all_gather_object", "gather_object", "recv_object_list")


def check(root: Trace, function: str, ruled_out: RuledOut) -> Iterator[Finding]:
    """One finding for each loop with events over something that other ranks may walk in another order."""
    for term in choices_and_loops(root):
        if type(term) is Choice:
            yield from _arms(root, term, function)
        elif type(term) is Loop and term.order is not None:
            first = first_in_order(term.body, Confidence.MEDIUM)
            if first is None or ruled_out.all(root, [first]):
                continue
            message = f"`{first.event.named}` runs once for each item of `{term.text}`, whose order ranks do not share"
            condition = Step("condition", term.path, term.pos[0], term.pos[1], f"`{term.text}` decides the order")
            confidence = confidence_of(term.order, [first])
            if first.event.p2p and first.call is not None:
                confidence = Confidence.LOW  # who is called to send mostly says what: a server takes it as it comes
            yield finding("FER106", message, term.order, [first], (condition,), function, confidence)


def _arms(root: Trace, choice: Choice, function: str) -> Iterator[Finding]:
    """A test of the rank whose arms pair up item by item, over the items of different dicts."""
    divergence = divergence_of(choice.formula)
    if divergence is None or divergence.kind != "rank":
        return
    comparison = Comparison(divergence.axes, Confidence.MEDIUM, True)
    for a, b in zip(_loops(choice.body, comparison), _loops(choice.orelse, comparison), strict=False):
        if not a.dicts or not b.dicts or a.dicts == b.dicts:
            continue
        if comparison.signature(a.body, (), {}) != comparison.signature(b.body, (), {}) or _announced(root, choice):
            continue
        occurrences: list[Occurrence] = []
        comparison.occurrences(a.body, {}, occurrences)
        comparison.occurrences(b.body, {}, occurrences)
        message = (
            f"`{occurrences[0].event.named}` pairs the items of `{a.text}` with those of `{b.text}`,"
            " whose order need not be the same"
        )
        steps = [
            Step("condition", choice.path, choice.pos[0], choice.pos[1], f"`{choice.text}` decides which is walked"),
            *(Step("flow", x.path, x.pos[0], x.pos[1], f"walks `{x.text}`") for x in (a, b)),
        ]
        confidence = min(Confidence.MEDIUM, confidence_of(divergence, occurrences))
        yield finding("FER106", message, divergence, occurrences, steps, function, confidence)


def _loops(trace: Trace, comparison: Comparison) -> list[Loop]:
    """The loops of an arm that issue events."""
    return [t for t in trace if type(t) is Loop and issues(comparison.fresh().signature(t.body, (), {}))]


def _announced(root: Trace, choice: Choice) -> bool:
    """Whether the ranks exchange objects before the choice: then one walks what the other told it."""
    stack = list(root)
    while stack:
        term = stack.pop(0)
        if term is choice:
            return False
        if type(term) is Event and term.op in _ANNOUNCING:
            return True
        if type(term) is CallTerm and any(e.op in _ANNOUNCING for e in term.summary.events):
            return True
        stack = [*parts(term), *stack]
    return False
