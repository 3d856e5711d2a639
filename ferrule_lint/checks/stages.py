"""FER301: a pipeline-stage dispatch that broadcasts in some arms and has none for the remaining stages.

The broadcasts run within a stage's tensor-parallel group, so nothing hangs at once: the stages between simply never get
what the others broadcast, and use it afterwards. Sender and receiver have such a chain each; both halves are reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.checks.build import finding
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence, Finding, Step
from ferrule_lint.semantics.divergence.compare import Comparison, Occurrence
from ferrule_lint.semantics.domain.conditions import atoms, divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import position, root_name
from ferrule_lint.semantics.domain.trace import Choice, Trace, choices_and_loops

_EVERY_AXIS = frozenset({"world"})


def check(root: Trace, function: str, body: f.Body) -> Iterator[Finding]:
    """`body` is the function's own code, which tells whether what was broadcast is used afterwards."""
    inner: set[int] = set()
    for choice in choices_and_loops(root):
        if type(choice) is not Choice or id(choice) in inner or _stage(choice) is None:
            continue
        arms, last = _chain(choice, inner)
        if len(arms) < 2 or any(_stage(arm) is None for arm in arms):
            continue
        broadcasts = [_broadcasts(arm.body) for arm in arms]
        if not all(broadcasts) or _broadcasts(last) or _total(arms):
            continue
        divergence = _stage(arms[0])
        assert divergence is not None
        occurrences = [o for found in broadcasts for o in found]
        if any("pp" in o.event.axes or "world" in o.event.axes for o in occurrences):
            continue  # FER102 speaks of these
        if not _used_after(body, arms[0], occurrences):
            continue
        confidence = min(Confidence.MEDIUM, divergence.confidence)
        message = (
            f"`{arms[0].text}` and its {len(arms) - 1} other arm(s) broadcast for some pipeline stages;"
            " the remaining stages have no arm and keep what they had"
        )
        steps = [Step("condition", a.path, a.pos[0], a.pos[1], f"arm for `{a.text}`") for a in arms]
        yield finding("FER301", message, divergence, occurrences, steps, function, confidence)


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


def _used_after(body: f.Body, first: Choice, occurrences: list[Occurrence]) -> bool:
    """Whether a name that some arm broadcasts is read below the dispatch."""
    places = {(o.call or o.event).pos for o in occurrences}
    shared: set[str] = set()
    reads: list[f.Name] = []
    last = 0
    for node in walk(body):
        if type(node) is f.Call and node.pos in places:
            shared.update(root_name(a) for a in (*node.args, *(value for _, value in node.keywords)))
        elif type(node) is f.Name:
            reads.append(node)
        elif type(node) is f.If and position(node.test) == first.pos:
            last = max((n.pos[2] for n in walk(node) if type(n) is f.Name), default=0)
    return any(n.id in shared and n.pos[0] > last for n in reads)


def _broadcasts(trace: Trace) -> list[Occurrence]:
    comparison = Comparison(_EVERY_AXIS, Confidence.MEDIUM, True)
    found: list[Occurrence] = []
    comparison.occurrences(trace, {}, found)
    return [o for o in found if o.event.op == "broadcast"]
