"""What is left of a list once a test has been asked of each item: how many that are is decided by the items' content.

The test stands in a comprehension, or around the call that fills another list in a loop.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import plain
from ferrule_lint.facts.walk import nodes, statements, walk, way_to
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import kinds
from ferrule_lint.semantics.data.accumulators import FILLS
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.conditions import Atom, Formula, atoms
from ferrule_lint.semantics.domain.dependences import (
    CONTAINED,
    DATA,
    EMPTY,
    FLOWS,
    ITEM,
    NO_DEPS,
    OBSERVED,
    PRESENT,
    Deps,
)
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_NAME = re.compile(r"[A-Za-z_]\w*")
#: what a witness says of a test that decides which items of the rank's own go on
LEAVES_OUT = "leaves out some of the rank's own items"
#: how the step ends that says where a DTensor's own part was taken
_LOCAL_PART = "to_local` returns the rank's own data"
#: what is written in quotes names nothing
_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")


def decided_by(conditions: Sequence[Formula], walked: Value, target: f.Expr | None) -> Deps:
    """The parameters that decide how many items of `walked` pass: one that is walked by its content."""
    items = {p for p, how in walked.deps if how in (FLOWS, ITEM)}
    found: set[tuple[str, str]] = set()
    for atom in _undecided(conditions):
        if _names(atom) & _bound(target):
            found |= {(p, OBSERVED) for p in items}
        for p, how in atom.deps:
            if how in (EMPTY, DATA):  # by whether there is any, or by what has been made of it
                found.add((p, how))
            if how in (FLOWS, OBSERVED) or (p in items and how in (ITEM, PRESENT, CONTAINED)):
                found.add((p, OBSERVED))
    return frozenset(found) or NO_DEPS


def left_out(
    frame: Frame,
    conditions: Sequence[Formula],
    walked: Value,
    target: f.Expr | None,
    env: Mapping[str, Value],
    pos: f.Pos | None,
) -> Divergence | None:
    """Why ranks are left with different numbers of items, where what is walked is the rank's own data."""
    if walked.data is None or walked.items is not None:
        return None
    for atom in _undecided(conditions):
        names = _names(atom)
        if atom.key.endswith(" is None") and _is_of_sharded(walked.data):
            continue
        if names & _bound(target) or any((v := env.get(n)) is not None and v.data is not None for n in names):
            return walked.data.then(frame.step("flow", pos, LEAVES_OUT)).at_most(Confidence.MEDIUM)
    return None


def _is_of_sharded(data: Divergence) -> bool:
    """Whether data are the parts of sharded tensors: each rank has one of every parameter or gradient that is there,
    whatever is in it."""
    return bool(data.why) and data.why[0].note.endswith(_LOCAL_PART)


def asks_each(frame: Frame, expr: f.Expr) -> bool:
    """Whether something is what a comprehension has left of what it walks, here or at the end of a function."""
    made = definition(frame, expr)
    if type(made) is f.Call and type(target := frame.ask(made.func).target) is FunctionTarget:
        returns = [s.value for s in statements(target.function.body) if type(s) is f.Return]
        return any(value is not None and _leaves_some(value) for value in returns)
    return _leaves_some(made)


def _leaves_some(expr: f.Expr) -> bool:
    return type(expr) is f.Comprehension and any(generator.conditions for generator in expr.generators)


def of_round(frame: Frame, place: str, pos: f.Pos) -> Divergence | None:
    """The same for what is added to a list in the rounds of the innermost loop."""
    if not frame.rounds:
        return None
    loop, walked, start = frame.rounds[-1]
    if walked.data is None or not (conditions := frame.conditions[start:]):
        return None
    env = frame.env
    if (target := item(loop.target, loop.iterable, loop.body)) is None:
        env = {place: value for place, value in env.items() if place != place_name(loop.target)}
    divergence = left_out(frame, conditions, walked, target, env, pos)
    return divergence if divergence is not None and not _filled_elsewhere(loop.body, place, pos) else None


def of_yield(frame: Frame, pos: f.Pos, even: int) -> tuple[Divergence | None, Deps]:
    """The same for what a generator yields in the rounds of its innermost loop, `even` of the innermost tests around it
    left aside, and the parameters that decide in how many of them it does. One that yields as soon as it has as many
    items as it is told (`if len(batch) == size: yield batch`) leaves nothing out."""
    if not frame.rounds:
        return None, NO_DEPS
    loop, walked, start = frame.rounds[-1]
    conditions = frame.conditions[start : len(frame.conditions) - even]
    if not conditions or sum(type(node) is f.Yield for node in walk(loop.body)) > 1:
        return None, NO_DEPS
    around = (block[i] for block, i in way_to(loop.body, pos))
    if any(type(s) is f.If and _counts(s.test) for s in around):
        return None, NO_DEPS
    target = item(loop.target, loop.iterable, loop.body)
    divergence = left_out(frame, conditions, walked, target, frame.env, pos) if target is not None else None
    return divergence, decided_by(conditions, walked, target)


def _counts(test: f.Expr) -> bool:
    """Whether a test asks how many items there are: of a list alone, by a number of its own."""
    return type(test) is f.Compare and type(test.left) is f.Call and last_name(test.left.func) == "len"


def deps_of_round(frame: Frame, place: str, pos: f.Pos) -> Deps:
    """The parameters that decide in how many rounds of the innermost loop something is added to a list."""
    if not frame.rounds:
        return NO_DEPS
    loop, walked, start = frame.rounds[-1]
    if not (conditions := frame.conditions[start:]):
        return NO_DEPS
    target = item(loop.target, loop.iterable, loop.body)
    if _filled_elsewhere(loop.body, place, pos):
        # in one of two ways, and either under this test alone
        conditions = conditions[:1] if len(conditions) > 1 and _filled_in_arm(loop.body, place, pos) else []
    return decided_by(conditions, walked, target)


def deps_of_presence(frame: Frame, place: str, pos: f.Pos) -> Deps:
    """The optional parameters with which alone a list gets any further items: what `decoder.run()` finds, on the ranks
    that have a decoder; and those by whose content it does. Where it gets others without them, it is as long."""
    told = (PRESENT,) if frame.rounds else (PRESENT, OBSERVED)  # rounds over content are `deps_of_round`
    found = frozenset(dep for dep in frame.path_deps() if dep[1] in told)
    if not found or frame.function is None:
        return NO_DEPS
    names = {name for name, _ in found}
    for node in statements(plain(frame.function.body)):
        if type(node) is f.If and any(n.id in names for n in nodes(node.test, f.Name)):
            for arm in (node.body, node.orelse):
                fills = _fills(arm, place)
                if fills and pos not in fills:
                    return NO_DEPS
    return found


def _filled_elsewhere(body: f.Body, place: str, pos: f.Pos) -> bool:
    """Whether a list gets its item in another way of a round as well: then it gets one in each of them."""
    return bool(_fills(body, place) - {pos})


def _filled_in_arm(body: f.Body, place: str, pos: f.Pos) -> bool:
    """Whether a list gets its items in one arm of the test around a call, wherever in there, and nowhere else."""
    arms = (arm for s in body if type(s) is f.If for arm in (s.body, s.orelse))
    return any(pos in (fills := _fills(arm, place)) and fills == _fills(body, place) for arm in arms)


def _fills(body: f.Body, place: str) -> set[f.Pos]:
    """Where a list gets items."""
    return {
        node.pos
        for node in nodes(body, f.Call)
        if type(node.func) is f.Attr and node.func.attr in FILLS and place_name(node.func.base) == place
    }


def item(target: f.Expr, walked: f.Expr, body: tuple[object, ...]) -> f.Expr | None:
    """What a loop or comprehension binds, where that is an item of what is walked; nothing where it is a key."""
    return None if walks_keys(target, walked, body) else target


def walks_keys(target: f.Expr, walked: f.Expr, body: tuple[object, ...]) -> bool:
    """Whether it is the keys of a dict that are walked, in which no data is: `for key in sorted(found)`, where
    `found[key]` is what is worked with."""
    while type(walked) is f.Call and type(walked.func) is f.Name and walked.func.id in _ORDERS and walked.args:
        walked = walked.args[0]
    if type(walked) is f.Call:
        return type(walked.func) is f.Attr and walked.func.attr == "keys" and not walked.args
    place, name = place_name(walked), place_name(target)
    return bool(place and name) and any(
        place_name(node.index) == name and place_name(node.base) == place for node in nodes(body, f.Subscript)
    )


_ORDERS = frozenset("sorted list tuple reversed".split())


def of_all(frame: Frame, walked: Value, pos: f.Pos) -> tuple[Divergence | None, Deps]:
    """The same for a test of which nothing is known (`filter(test, items)`)."""
    passes = Atom("item", None, NO_DEPS)
    target = f.Name("item", pos)
    chosen = decided_by((passes,), walked, target)
    return left_out(frame, (passes,), walked, target, {}, pos), walked.length_deps | chosen


def _undecided(conditions: Sequence[Formula]) -> list[Atom]:
    """The tests that are not the same on all ranks for certain; that a key is among some others, or of which kind a
    tensor is, says little of data."""
    found = (a for formula in conditions for a in atoms(formula))
    return [a for a in found if not a.key.startswith("=") and " in " not in a.key and not kinds.is_question(a.key)]


def _names(atom: Atom) -> set[str]:
    return set(_NAME.findall(_TEXT.sub("", atom.key)))


def _bound(target: f.Expr | None) -> set[str]:
    """The name that a loop gives to an item; of several at once (`for i, x in enumerate(items)`) it is not known which
    of them is the item."""
    return {target.id} if type(target) is f.Name else set()
