"""Where two ways meet: what a place reaches on some ranks only, after a branch, a round, a `try` or several returns.

See `participation` for what outputs and their names are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.conditions import (
    TRUE,
    Atom,
    Formula,
    Negation,
    atoms,
    deps_of,
    divergence_of,
    negate,
)
from ferrule_lint.semantics.domain.dependences import NO_DEPS, NOTHING
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.reach import DETACHED, EVERY, Partly, Reach, covered, reaching
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.gradients.participation import KINDS, combined
from ferrule_lint.semantics.walk.stored import is_empty

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: exceptions that a rank's own data can raise
_OF_DATA = frozenset({"Exception", "BaseException", "RuntimeError", "ValueError", "IndexError", "AssertionError"})


def met(formula: Formula, a: Value, b: Value) -> Reach | None:
    """What a place reaches where two arms meet: under a divergent condition, some of it on some ranks only. What an arm
    reaches on some ranks only stays so, whatever the other one does: which of them is taken is a setting. An arm that
    is for evaluation alone has no backward pass."""
    one, other = a.reach, b.reach
    union = reaching(one, other)
    if union is None or one is None or other is None or not union.outputs:
        return union
    divergence, deps = divergence_of(formula), deps_of(formula)
    trained = [arm.partly for arm, test in ((one, formula), (other, negate(formula))) if not _is_evaluation(test)]
    partly = set(NOTHING.union(*trained))
    if (divergence is None and deps) or (divergence is not None and divergence.kind in KINDS):
        for mine, value, theirs in ((one, b, other), (other, a, one)):
            nothing = value.const is not None or (not theirs.outputs and not theirs.partly)
            failing = {p.output for p in mine.partly if p.divergence is not None and p.divergence.kind == "host"}
            for output in mine.outputs | failing:
                if output == EVERY and theirs.outputs:
                    continue  # all parameters stand in there for what goes the usual way here
                if (
                    output.startswith("=")
                    and not value.uniform
                    and _asks_for_items(formula, output[1:].partition("#")[0])
                ):
                    continue  # `if q.numel() == 0: return torch.zeros_like(q)`: without items there is no gradient
                if not covered(output, theirs.outputs) and not _comes_before(output, theirs.outputs):
                    left_out = output.startswith("=") and not nothing
                    partly.add(Partly(output, divergence, deps, None if left_out else theirs.at, left_out))
    gone = {p.output for p in partly}
    return Reach(frozenset(o for o in union.outputs if o not in gone) or NOTHING, frozenset(partly) or NOTHING)


#: what a model has made on the way to what else it puts out, by its name
_ON_THE_WAY = re.compile(
    r"(^|_)(feat(ure)?s?|hidden(_states?)?|embed(ding)?s?|latents?|backbone|encoded|encoder|memory)(_|$)"
)


def _comes_before(output: str, outputs: frozenset[str]) -> bool:
    """Whether an output, by its name, lies on the way to another of the same module, which is among `outputs`."""
    name, _, part = output.partition("#")
    return _ON_THE_WAY.search(part) is not None and any(other.partition("#")[0] == name for other in outputs)


#: the text of a test whether a tensor has items
_FOR_ITEMS = re.compile(r"(\.(numel|nelement|size)|\blen)\(.*\) == 0$|\.shape\[\d+\] == 0$")


def _asks_for_items(formula: Formula, name: str) -> bool:
    """Whether a test asks if a parameter, or what is made of it, has items."""
    asked = (atom for atom in atoms(formula) if _FOR_ITEMS.search(atom.key))
    return any(name in _NAMES.findall(atom.key) or name in {p for p, _ in atom.deps} for atom in asked)


_NAMES = re.compile(r"[A-Za-z_]\w*")


def collected(formula: Formula, a: Mapping[str, Value], b: Mapping[str, Value], merged: dict[str, Value]) -> None:
    """Lists to which one of two arms adds the output of a module that has run before both."""
    divergence, deps = divergence_of(formula), deps_of(formula)
    if not deps if divergence is None else divergence.kind not in KINDS:
        return
    for place, value in a.items():
        other = b.get(place)
        if other is None or other is value or not (value.container and other.container):
            continue
        mine, theirs = (value.reach or DETACHED).outputs, (other.reach or DETACHED).outputs
        of_one_arm = {o for o in mine ^ theirs if not o.startswith("=") and not covered(o, mine & theirs)}
        if of_one_arm:
            before = _of_both(a, b)
            reach = merged[place].reach or DETACHED
            partly = {Partly(o, divergence, deps, None) for o in of_one_arm if covered(o, before)}
            outputs = reach.outputs - {p.output for p in partly}
            merged[place] = merged[place]._replace(reach=Reach(outputs, reach.partly | partly))


def _of_both(a: Mapping[str, Value], b: Mapping[str, Value]) -> frozenset[str]:
    """What the places reach that neither of two arms has changed."""
    found = (v.reach.outputs for place, v in a.items() if v.reach is not None and b.get(place) is v)
    return NOTHING.union(*found)


def after_round(
    env: dict[str, Value], skipped: Iterable[tuple[Formula, Mapping[str, Value]]], used: frozenset[str] = NOTHING
) -> None:
    """What places reach at the end of a round, some of whose ways have left it early (`continue`); `used`: the outputs
    that some round uses in any case."""
    for formula, left in skipped:
        for place, value in env.items():
            other = left.get(place)
            if other is not None and other is not value and value.reach != other.reach:
                env[place] = value._replace(reach=_with(met(formula, value, other), used))
    for place, value in env.items() if used else ():
        reach = _with(value.reach, used)
        if reach is not value.reach:
            env[place] = value._replace(reach=reach)


def _with(reach: Reach | None, used: frozenset[str]) -> Reach | None:
    """What a place reaches, some of it on every rank after all."""
    partly = reach.partly if reach is not None else NOTHING
    always = {p.output for p in partly} & used
    if reach is None or not always:
        return reach
    return reach._replace(outputs=reach.outputs | always, partly=frozenset(p for p in partly if p.output not in always))


def with_handler(
    frame: Frame,
    handler: f.Handler,
    before: Mapping[str, Value],
    tried: Mapping[str, Value],
    entered: Mapping[str, Value],
    joined: dict[str, Value],
) -> None:
    """What places reach after a `try` whose handler goes on, on the ranks that had the exception alone: what the
    handler puts there, else what was there before. Exceptions of local data are: of shapes and indices, and all that
    are not told apart. `entered`: the state in which the handler began; the frame's is the one in which it ended."""
    types = handler.type.elements if type(handler.type) is f.Sequence else (handler.type,)
    if not any(t is None or last_name(t) in _OF_DATA for t in types):
        return
    note = "an exception in this `try` may be one rank's own"
    divergence = frame.source(DP, "host", (handler.line, 1, handler.line, 1), note, Confidence.MEDIUM)
    set_there = [v for place, v in frame.env.items() if v is not entered.get(place)]
    kept = combined(set_there) or DETACHED
    for place, value in tried.items():
        left = frame.env.get(place)
        other = before.get(place) if left is entered.get(place) else left
        if other is None or other is value or value.reach is None or place not in joined:
            continue
        reached = (other.reach or DETACHED).outputs | kept.outputs
        missing = {o for o in value.reach.outputs if not o.startswith("=") and not covered(o, reached)}
        if missing:
            at = other.reach.at if other.reach is not None else None
            partly = value.reach.partly | {Partly(o, divergence, NO_DEPS, at) for o in missing}
            outputs = (joined[place].reach or DETACHED).outputs - missing
            joined[place] = joined[place]._replace(reach=Reach(outputs, partly))


def returned(frame: Frame, result: Value) -> Value:
    """The result of a function with several returns: what some of them reach under a divergent condition only."""
    returns = [r for r in frame.returns if not any(_is_evaluation(c) for c in r[1])]
    if len(returns) < 2:
        return result
    values = [v for v, _ in returns]
    items = result.items
    if items is not None and all(v.items is not None and len(v.items) == len(items) for v in values):
        items = tuple(
            [
                item._replace(reach=over_returns([(v.items or ())[i] for v in values], returns))
                for i, item in enumerate(items)
            ]
        )
    return result._replace(reach=over_returns(values, returns), items=items)


def _is_evaluation(formula: Formula) -> bool:
    """`not self.training`, `incremental_state is not None`: there is no backward."""
    key = formula.operand.key if type(formula) is Negation and type(formula.operand) is Atom else ""
    return key.endswith(".training") or _STEP_BY_STEP.fullmatch(key) is not None


#: what is there where a model writes one token after another, by its name
_STEP_BY_STEP = re.compile(r"(incremental_state|inference_(params|context)) is None")


def over_returns(values: list[Value], returns: list[tuple[Value, tuple[Formula, ...]]]) -> Reach | None:
    """The first of the returns against each later one, under the condition of the one that comes first. Those behind
    the opposite of a test that the first has passed before are no other way for who comes to that condition."""
    values, returns = values[:_MOST_RETURNS], returns[:_MOST_RETURNS]
    value, conditions = values[0], returns[0][1]
    if len(values) == 1:
        return value.reach
    k = next((k for k in reversed(range(len(conditions))) if _tells(conditions[k])), 0)
    passed = conditions[:k]
    apart = [next((c for c in passed if negate(c) in others), None) for _, others in returns[1:]]
    beside = [i for i, c in enumerate(apart, start=1) if c is None]
    elsewhere = [i for i, c in enumerate(apart, start=1) if c is not None]
    reach = value.reach
    if beside:
        formula = conditions[k] if conditions and _tells(conditions[k]) else TRUE
        reach = met(formula, value, _of_rest(values, returns, beside))
    if elsewhere:
        parted = next((c for c in reversed(passed) if c in apart and _tells(c)), TRUE)
        reach = met(parted, value._replace(reach=reach), _of_rest(values, returns, elsewhere))
    return reach


#: returns of one function that are told apart
_MOST_RETURNS = 40


def _of_rest(values: list[Value], returns: list[tuple[Value, tuple[Formula, ...]]], which: list[int]) -> Value:
    """What later returns reach together."""
    return values[which[0]]._replace(reach=over_returns([values[i] for i in which], [returns[i] for i in which]))


def _tells(formula: Formula) -> bool:
    return divergence_of(formula) is not None or bool(deps_of(formula))


def without_nothing(frame: Frame, value: Value) -> Value:
    """What is there and not None: what it reaches on some ranks only, because others have left it None (`loss = None`,
    and no sample that counts), it reaches on all that get here."""
    if value.reach is None or not value.reach.partly or frame.function is None:
        return value
    empty = {s.line for s in statements(frame.function.body) if type(s) is f.Assign and s.value == _NONE}
    given = frozenset(p for p in value.reach.partly if p.at is not None and p.at[0] in empty)
    if not given:
        return value
    met_again = {(p.output, p.divergence) for p in given}  # in another round, say
    partly = frozenset(p for p in value.reach.partly if (p.output, p.divergence) not in met_again) or NOTHING
    outputs = value.reach.outputs | {p.output for p in given}
    return value._replace(reach=value.reach._replace(outputs=outputs, partly=partly))


#: what joins the items of a list, and fails where there are none
_JOINS = frozenset("cat stack concat concatenate hstack vstack".split())


def _reduces_each_use(frame: Frame) -> bool:
    """Whether a module may be sharded here, each use of which has a backward of its own; under DDP all have one."""
    if not frame.in_module or frame.self_class is None:
        return True
    confidence = frame.analysis.sharding.of_class(frame.self_class, bare=True)
    return confidence is not None and confidence > Confidence.LOW


def joined(frame: Frame, call: f.Call, joining: Value) -> Value:
    """What a call that joins the items of a list is given: there is one, and so all that get here reach what each item
    reaches which only some rounds add to a list that was begun empty (`torch.cat(better)`)."""
    place = place_name(call.args[0]) if call.args and last_name(call.func) in _JOINS else ""
    return with_items(frame, place, joining) if place else joining


def with_items(frame: Frame, place: str, value: Value) -> Value:
    """The same of a list that a test says to have items (`if losses:`, with a stand-in in the other arm)."""
    reach = value.reach
    if reach is None or not reach.partly or frame.function is None:
        return value
    if not any(map(is_empty, frame.analysis.bodies.assigned(frame.function.body, place))):
        return value
    each = frame.appended.get(place, NOTHING)
    outputs = frozenset(p.output for p in reach.partly if covered(p.output, each))
    if _reduces_each_use(frame):
        outputs = frozenset(o for o in outputs if _runs_once(frame, frame.function, o))
    partly = frozenset(p for p in reach.partly if p.output not in outputs) or NOTHING
    return value._replace(reach=Reach(reach.outputs | outputs, partly))


def append(frame: Frame, place: str, added: Reach | None) -> None:
    """A list gets an item: what all of them reach is what is left of what they did."""
    outputs, before = (added or DETACHED).outputs, frame.appended.get(place)
    if before is not None:
        outputs = frozenset(o for o in outputs if covered(o, before)) | {o for o in before if covered(o, outputs)}
    frame.appended[place] = outputs


def _runs_once(frame: Frame, function: FunctionInfo, output: str) -> bool:
    """Whether the module of an output is called at one place, in no round of a loop."""
    name = output.partition("#")[0].rstrip("~")
    places = {pos for known, pos, _ in frame.forwards if known == name}
    loops = (s for s in statements(function.body) if type(s) is f.For or type(s) is f.While)
    return len(places) == 1 and not any(loop.line < pos[0] <= _last_line(loop.body) for pos in places for loop in loops)


def _last_line(body: f.Body) -> int:
    return max(s.line for s in statements(body))


_NONE = f.Const("None")
