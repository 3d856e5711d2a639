"""Counters that both arms of a test step alike (`if rank == 0: ...; i += 1`, `else: ...; i += 1`), or one of them
alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_LEAVES = (f.Break, f.Continue, f.Return)


def keep_together(s: f.If, a: dict[str, Value], b: dict[str, Value]) -> None:
    """What both arms step once by the same constant is the same behind either: that of the plainer arm."""
    for place, (_, in_loop), _ in _in_both(s):
        plain = (b if in_loop else a).get(place)
        if plain is not None and place in a and place in b:
            a[place] = b[place] = plain


def of_both_arms(frame: Frame, s: f.AugAssign) -> bool:
    """Whether the other arm of the test around a step makes the same: no rank has more of them by that test."""
    if frame.function is None:
        return False
    return (s.line, place_name(s.target)) in frame.analysis.bodies.once(_of_both_arms, frame.function.body)


def _of_both_arms(body: f.Body) -> frozenset[tuple[int, str]]:
    found = [x for node in statements(body) if type(node) is f.If for x in _in_both(node)]
    return frozenset(
        (step.line, place) for place, *both in found if not any(in_loop for _, in_loop in both) for step, _ in both
    )


def _in_both(s: f.If) -> Iterator[tuple[str, tuple[f.AugAssign, bool], tuple[f.AugAssign, bool]]]:
    """The places that both arms step once by the same constant, one of them in no loop; the step of either."""
    steps = _steps(s.body) if s.orelse else {}
    others = _steps(s.orelse) if steps else {}
    for place, (step, in_loop) in steps.items():
        other, other_in_loop = others.get(place, (None, True))
        if other is not None and (step.op, step.value) == (other.op, other.value) and not (in_loop and other_in_loop):
            yield place, (step, in_loop), (other, other_in_loop)


def stepped_alone(frame: Frame, s: f.If, formula: Formula, a: dict[str, Value], before: Mapping[str, Value]) -> None:
    """`if rank == 0: count += 1`: a variable that some ranks of the job alone step by a constant, and in no loop, where
    the others may do so in another way."""
    divergence = divergence_of(formula)
    if divergence is None or divergence.kind != "rank" or divergence.axes != WORLD or frame.loop_depth or frame.light:
        return
    for place, (step, in_loop) in (_steps(s.body) if not s.orelse else {}).items():
        old, new = before.get(place), a.get(place)
        if new is None or type(step.target) is not f.Name or in_loop or step.op not in ("Add", "Sub"):
            continue
        known = old is not None and (old.agreed or old.data is not None or old.container or old.divergence is not None)
        if not known and step.value != f.Const("0"):
            pos = (step.line, 1, step.line, 1)
            why = divergence.then(frame.step("flow", pos, f"`{place}` is changed on some ranks only"))
            a[place] = new._replace(divergence=why.at_most(Confidence.MEDIUM), uniform=False)


def counts_alone(frame: Frame, s: f.AugAssign, divergence: Divergence) -> bool:
    """`if rank == 0: self.seen += 1`: an attribute, or a variable of the module, that some ranks of the job alone step,
    and that the class or module steps nowhere else; it may begin again (`self.seen = 0`)."""
    if divergence.axes != WORLD or s.op not in ("Add", "Sub") or s.value == f.Const("0"):
        return False
    if type(s.target) is f.Name and s.target.id in frame.shared:
        setting = frame.module.rebinders(s.target.id)
        return sum(_is_step(n, s.target.id) for function in setting for n in statements(function.body)) == 1
    name, owner = frame.own_attribute(place_name(s.target)), frame.self_class
    if not name or owner is None:
        return False
    steps = 0
    for info in frame.analysis.names.mro(owner):
        for method in info.methods.values():
            own = method.parameters[0].name if method.parameters and not method.is_static else ""
            steps += sum(_is_step(node, f"{own}.{name}") for node in statements(method.body))
    return steps == 1


def _is_step(s: f.Stmt, place: str) -> bool:
    """Whether a statement changes a place, and does not have it begin again."""
    return place in _written(s) and (type(s) is not f.Assign or type(s.value) is not f.Const)


def cut_alone(frame: Frame, s: f.If, formula: Formula, a: dict[str, Value], before: Mapping[str, Value]) -> None:
    """`if rank == 0: samples = samples[:4]`: a list of which some ranks of the job alone leave items out, where nobody
    else sets it."""
    divergence = divergence_of(formula)
    if divergence is None or divergence.kind != "rank" or divergence.axes != WORLD or s.orelse:
        return
    for cut in s.body:
        place = _cut(cut) if type(cut) is f.Assign else ""
        old, new = before.get(place), a.get(place)
        own = frame.own_attribute(place)
        if not place or new is None or _ends_in(s.body) or (frame.light and not own):
            continue
        if old is None or not (old.agreed or old.data is not None or old.divergence is not None or old.length):
            pos = (cut.line, 1, cut.line, 1)
            why = divergence.then(frame.step("flow", pos, f"`{place}` loses items on some ranks only"))
            a[place] = cut_off = new._replace(length=why.at_most(Confidence.MEDIUM), uniform=False)
            if own:
                frame.also_left(own, cut_off)


def _ends_in(arm: f.Body) -> bool:
    return any(type(node) in _LEAVES for node in statements(arm))


def _cut(s: f.Assign) -> str:
    """The name that is set to a part of itself, between numbers that are written out."""
    value = s.value
    if type(value) is not f.Subscript or type(value.index) is not f.Op or value.index.kind != "Slice":
        return ""
    name = place_name(s.targets[0])
    ends = value.index.operands
    written = all(type(e) is f.Const for e in ends) and any(e != f.Const("None") for e in ends)
    return name if written and len(s.targets) == 1 and name == place_name(value.base) else ""


def one_round(s: f.For) -> bool:
    """Whether a loop takes one round: `for x in [only]`, `for x, y in zip([only], answers)`."""
    walked = s.iterable
    several = walked.args if type(walked) is f.Call and last_name(walked.func) == "zip" else (walked,)
    return any(_holds_one(x) for x in several)


def is_single(frame: Frame, s: f.For) -> bool:
    """Whether a loop takes one round, as the number of rounds is written out (`tries = 1`, `for _ in range(tries)`)."""
    walked = s.iterable
    if type(walked) is not f.Call or last_name(walked.func) != "range" or len(walked.args) != 1:
        return False
    return frame.eval(walked.args[0]).const == "1"


def _holds_one(expr: f.Expr) -> bool:
    return type(expr) is f.Sequence and len(expr.elements) == 1 and type(expr.elements[0]) is not f.Starred


def _steps(arm: f.Body) -> dict[str, tuple[f.AugAssign, bool]]:
    """The places that an arm steps by a constant, once and come what may, and nothing else in it sets; and whether it
    does so in a loop that takes one round."""
    certain = [(step, in_loop) for step, in_loop in _certain(arm, False) if type(step.value) is f.Const]
    if not certain or _ends_in(arm):
        return {}
    written = [place for node in walk(arm) for place in _written(node)]
    return {
        place: (step, in_loop)
        for step, in_loop in certain
        if (place := place_name(step.target)) and written.count(place) == 1
    }


def _certain(body: f.Body, in_loop: bool) -> Iterator[tuple[f.AugAssign, bool]]:
    for s in body:
        if type(s) is f.AugAssign:
            yield s, in_loop
        elif type(s) is f.Assign and (step := _as_step(s)) is not None:
            yield step, in_loop
        elif type(s) is f.With:
            yield from _certain(s.body, in_loop)
        elif type(s) is f.For and one_round(s):
            yield from _certain(s.body, True)


def _as_step(s: f.Assign) -> f.AugAssign | None:
    """`count = count + 1` for `count += 1`."""
    value, target = s.value, s.targets[0]
    if type(value) is not f.Op or value.kind not in ("Add", "Sub") or len(value.operands) != 2 or len(s.targets) != 1:
        return None
    same = place_name(target) != "" and place_name(target) == place_name(value.operands[0])
    return f.AugAssign(s.line, target, value.kind, value.operands[1]) if same else None


def _written(node: object) -> list[str]:
    if type(node) is f.Assign:
        return [place for target in node.targets for place in _places(target)]
    if type(node) is f.For or type(node) is f.AugAssign:
        return _places(node.target)
    return [node.name] if type(node) is f.Walrus else []


def _places(target: f.Expr) -> list[str]:
    if type(target) is f.Sequence:
        return [place for element in target.elements for place in _places(element)]
    return [place_name(target)]
