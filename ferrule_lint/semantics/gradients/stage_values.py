"""Values that only some pipeline stages have, reduced over another axis as if every stage had them.

A place that the arms of a test of the stage set differently is *stage-local*. An all-reduce over an axis within the
stage makes its members agree and leaves the stages apart; so does everything that is worked out of the result. Only a
collective along `pp` brings it to all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import Axes
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, place_name, position
from ferrule_lint.semantics.domain.trace import Event
from ferrule_lint.semantics.gradients.shared_by_callers import SHARES, WITHIN_A_STAGE, is_shared
from ferrule_lint.semantics.walk.frame import CallIssue

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_STAGES: Axes = frozenset({"pp"})


def is_stage_test(formula: Formula) -> bool:
    """Whether the outcome differs between pipeline stages and nowhere else."""
    divergence = divergence_of(formula)
    return divergence is not None and divergence.kind == "rank" and divergence.axes == _STAGES


def merged(joined: Value, a: Value, b: Value, divergence: Divergence) -> Value:
    """What a place holds after the arms of a divergent test which leave different values in it."""
    if divergence.kind != "rank" or divergence.axes != _STAGES or a.group is not None or b.group is not None:
        return joined
    return joined._replace(stage=divergence)


def reduced(frame: Frame, event: Event, expr: f.Expr | None, value: Value | None) -> None:
    """At an all-reduce: remember that a stage-local value has been reduced within the stages."""
    place = place_name(expr)
    if event.op != "all_reduce" or value is None or value.stage is None or not place or frame.light:
        return
    if not event.axes or not event.axes <= WITHIN_A_STAGE or any("pp" in _axes_of(c) for c in frame.conditions):
        return
    known = frame.reduced_within_stages.get(place)
    frame.reduced_within_stages[place] = known or (event, value.stage)


def _axes_of(formula: Formula) -> Axes:
    divergence = divergence_of(formula)
    return divergence.axes if divergence is not None else frozenset()


def shared(frame: Frame, place: str, axes: Axes) -> None:
    """A collective over `axes` has made a place hold the same value: all stages have it, if the group spans them."""
    if not axes <= WITHIN_A_STAGE:
        frame.reduced_within_stages.pop(place, None)


def finish(frame: Frame) -> None:
    """At a function's end: issues for what was reduced within the stages and is then used on all of them."""
    body = frame.function.body if frame.function is not None else frame.module.body
    for place, (event, divergence) in frame.reduced_within_stages.items():
        used = _used(body, place, event.pos, frame.stage_tests)
        if not used or (used == "returned" and is_shared(frame)):
            continue
        step = frame.step("flow", event.pos, f"`{place}` is reduced within each stage, and used on all of them")
        message = (
            f"`{event.op}` reduces `{place}`, which only some pipeline stages have, within each stage: the others go on"
            " with a value of their own, for nothing brings it to them"
        )
        issue = CallIssue("FER302", event.pos, divergence.then(step).at_most(Confidence.MEDIUM), event, message)
        frame.issues.append(issue)


def _used(body: f.Body, place: str, after: f.Pos, stage_tests: set[tuple[int, int]]) -> str:
    """Whether a place, or what is worked out of it, is "kept" (stored or tested) or no more than "returned" below,
    outside tests of the stage; "" if neither."""
    names = {place}
    found = ""
    for s in _statements(body, stage_tests):
        if s.line <= after[2]:
            continue
        for call in (n for n in walk(_own_expressions(s)) if type(n) is f.Call):
            if SHARES.search(last_name(call.func)) and _reads((*call.args, *(v for _, v in call.keywords)), {place}):
                return ""
        if type(s) is f.Assign and s.value is not None and _reads(s.value, names):
            simple = [t.id for t in s.targets if type(t) is f.Name]
            names.update(simple)
            found = "kept" if len(simple) < len(s.targets) else found
        elif type(s) is f.Return and _reads(_own_expressions(s), names):
            found = found or "returned"
        elif type(s) in (f.If, f.While) and _reads(_own_expressions(s), names):
            found = "kept"
    return found


def _statements(body: f.Body, stage_tests: set[tuple[int, int]]) -> list[f.Stmt]:
    """The statements of a body in their order, nested ones too, but not those under a test of the stage."""
    out: list[f.Stmt] = []
    for s in body:
        pos = position(s.test) if type(s) is f.If else None
        if pos is not None and pos[:2] in stage_tests:
            continue
        out.append(s)
        for block in blocks(s):
            out += _statements(block, stage_tests)
    return out


def _own_expressions(s: f.Stmt) -> object:
    """What a statement itself evaluates, without its blocks."""
    if type(s) is f.If or type(s) is f.While:
        return s.test
    if type(s) is f.For:
        return s.iterable
    if type(s) is f.With:
        return tuple(e for e, _ in s.items)
    return () if type(s) is f.Try else s


def _reads(node: object, places: set[str]) -> bool:
    return any((type(n) is f.Name or type(n) is f.Attr) and place_name(n) in places for n in walk(node))
