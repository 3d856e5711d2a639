"""FER301: a pipeline-stage dispatch that broadcasts in some arms and has none for the remaining stages.

The broadcasts run within a stage's tensor-parallel group, so nothing hangs at once: the stages between simply never get
what the others broadcast. That is a bug where they use it: in the function itself, or by calling it for what it hands
back. Sender and receiver have such a dispatch each, in the arms of one test; the two are one finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from ferrule_lint.checks.below import uses_below
from ferrule_lint.checks.build import finding
from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence, Finding, Step
from ferrule_lint.semantics.divergence.compare import Comparison, Occurrence
from ferrule_lint.semantics.divergence.reach import way_to
from ferrule_lint.semantics.divergence.ruled_out import settings_on
from ferrule_lint.semantics.domain.conditions import atoms, divergence_of, evaluate, implied
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.trace import Choice, Trace, choices_and_loops, ends

_EVERY_AXIS = frozenset({"world"})
#: whether the stages between call a function, given what settings are where it matters
ForAll: TypeAlias = Callable[[Mapping[str, bool]], bool]


def check(root: Trace, function: str, body: f.Body, for_all: ForAll) -> Iterator[Finding]:
    """`body` is the function's own code, which tells whether what was broadcast is used afterwards; `for_all` tells
    whether the stages between call the function, too, under the settings of the dispatch."""
    inner: set[int] = set()
    found: list[tuple[Choice, Finding]] = []
    for choice in choices_and_loops(root):
        if type(choice) is not Choice or id(choice) in inner:
            continue
        known = _dispatch(root, choice, function, body, inner, for_all)
        if known is not None:
            found.append((choice, known))
    for choice, known in found:
        halves = [other for one, other in found if one is not choice and _two_halves(root, choice, one)]
        if not any(other.span.line < known.span.line for other in halves):
            yield _with(known, halves)


def _dispatch(
    root: Trace, choice: Choice, function: str, body: f.Body, inner: set[int], for_all: ForAll
) -> Finding | None:
    divergence = _stage(choice)
    if divergence is None:
        return None
    arms, last = _chain(choice, inner)
    if len(arms) < 2 or any(_stage(arm) is None for arm in arms):
        return None
    broadcasts = [_broadcasts(arm.body) for arm in arms]
    if not all(broadcasts) or _broadcasts(last) or _total(arms) or ends(last) or _left_before(root, arms):
        return None
    occurrences = [o for found in broadcasts for o in found]
    if any("pp" in o.event.axes or "world" in o.event.axes for o in occurrences):
        return None  # FER102 speaks of these
    below = uses_below(body, arms[0].pos, {(o.call or o.event).pos: o.call is None for o in occurrences})
    if not below:
        return None
    if not any(use.is_work for use in below) and not for_all(settings_on(way_to(root, choice) or ())):
        return None
    confidence = min(Confidence.MEDIUM, divergence.confidence)
    message = (
        f"`{arms[0].text}` and its {len(arms) - 1} other arm(s) broadcast for some pipeline stages;"
        " the remaining stages have no arm and keep what they had"
    )
    steps = [Step("condition", a.path, a.pos[0], a.pos[1], f"arm for `{a.text}`") for a in arms]
    return finding("FER301", message, divergence, occurrences, steps, function, confidence)


def _two_halves(root: Trace, one: Choice, other: Choice) -> bool:
    """Whether two dispatches stand in the two arms of one test."""
    outer = [term for term in choices_and_loops(root) if type(term) is Choice]
    return any(
        (_has(term.body, one) and _has(term.orelse, other)) or (_has(term.body, other) and _has(term.orelse, one))
        for term in outer
    )


def _has(trace: Trace, choice: Choice) -> bool:
    return any(term is choice for term in choices_and_loops(trace))


def _with(known: Finding, halves: list[Finding]) -> Finding:
    """A finding, with the arms and events of the other half of the dispatch."""
    ways = [s for half in halves for s in half.witness if s.role == "condition"]
    end = next(i for i, s in enumerate(known.witness) if s.role == "condition")
    while known.witness[end].role == "condition":
        end += 1
    events = [e for half in halves for e in half.events]
    return replace(known, witness=(*known.witness[:end], *ways, *known.witness[end:]), events=(*known.events, *events))


def _chain(choice: Choice, inner: set[int]) -> tuple[list[Choice], Trace]:
    """The arms of an if/elif chain and what its else does."""
    arms = [choice]
    while len(arms[-1].orelse) == 1:
        following = arms[-1].orelse[0]
        if type(following) is not Choice or following.form != "if":
            break
        inner.add(id(following))
        arms.append(following)
    return arms, arms[-1].orelse


def _left_before(root: Trace, arms: list[Choice]) -> bool:
    """Whether ranks that would come to no arm do not come to the dispatch: `if not (first or last): return`."""
    outcomes = {key: value for arm in arms for key, value in implied(arm.formula, False).items()}
    return any(evaluate(asked, outcomes) is False for asked in way_to(root, arms[0]) or ())


def _stage(choice: Choice) -> Divergence | None:
    """The divergence of a test of the pipeline stage."""
    divergence = divergence_of(choice.formula)
    if divergence is not None and divergence.kind == "rank" and "pp" in divergence.axes:
        return divergence
    return None


def _total(arms: list[Choice]) -> bool:
    """Whether two arms are each other's complement, so that no stage is left out."""
    tests = [a.formula for a in arms]
    keys = [[x.key for x in atoms(t)] for t in tests]
    return any(len(k) == 1 and type(t).__name__ == "Negation" for k, t in zip(keys, tests, strict=True)) and any(
        len(k) == 1 and type(t).__name__ == "Atom" for k, t in zip(keys, tests, strict=True)
    )


def _broadcasts(trace: Trace) -> list[Occurrence]:
    comparison = Comparison(_EVERY_AXIS, Confidence.MEDIUM, True)
    found: list[Occurrence] = []
    comparison.occurrences(trace, {}, found)
    return [o for o in found if o.event.op == "broadcast"]
