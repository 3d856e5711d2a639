"""Entries that all ranks put into a dict, or items into a list, each under its own test: `if rank == 0: state[key] =
load(key)`, and further down `if rank != 0: state[key] = receive(key)`.

Who comes to neither has none, so the tests of the other places have to cover what the own one leaves out; what decides
over both alike (`if resume:`) does not count, and where ranks may differ in it (`if exists(path):`) it alone does.
The keys are the same where they are written alike, and come from loops over the same thing. That nobody asks for an
entry between the two places is taken for granted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, told_parts
from ferrule_lint.semantics.data.records import MOST_ENTRIES
from ferrule_lint.semantics.domain.assigned import by_place
from ferrule_lint.semantics.domain.conditions import Formula, divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence, Value, worse
from ferrule_lint.semantics.domain.text import place_name, render
from ferrule_lint.semantics.walk.frame import Frame

#: how an item is put into a list
_APPEND = "append"
#: a test as text, and its outcome
_Answer: TypeAlias = tuple[str, bool]


class _Store(NamedTuple):
    """A place where something is put in: where it stands, the tests around it, under which key or how, and the loop
    that it comes from."""

    pos: f.Pos
    answers: frozenset[_Answer]
    key: str
    walked: str


def by_others(frame: Frame, place: str, pos: f.Pos) -> bool:
    """Whether the ranks that do not come to `place[key] = value`, or `place.append(value)`, at some position put as
    much there elsewhere; that is kept in mind for where the arms meet."""
    if frame.function is None or not place.isidentifier():
        return False
    if sum(d is not None and d.kind == "rank" for d in map(divergence_of, frame.conditions)) != 1:
        return False
    places, tests = frame.analysis.bodies.once(_found, frame.function.body)
    stores = places.get(place, [])
    own = next((s for s in stores if s.pos == pos), None)
    if own is None:
        return False
    alike = [s for s in stores if s is not own and (s.key, s.walked) == (own.key, own.walked)]
    for text, outcome in own.answers:
        if not _is_of_rank(frame, tests.get(text)):
            continue
        if own.key == _APPEND and not all(_is_one(stores, (text, told)) for told in (True, False)):
            continue
        rest = [s.answers - own.answers for s in alike if (text, not outcome) in s.answers]
        if rest and _cover([answers - {(text, not outcome)} for answers in rest]):
            frame.filled_alike.add(place)
            return True
    return False


def by_other_tests(frame: Frame) -> Divergence | None:
    """What is left to tell apart who comes here where all put as much in under a test of the rank."""
    told = (divergence_of(condition) for condition in reversed(frame.conditions))
    return next((d for d in told if d is not None and d.kind != "rank"), None)


def tells_alike(formula: Formula) -> bool:
    """Whether ranks are told apart by nothing but who they are where two arms meet."""
    divergence = divergence_of(formula)
    return divergence is None or divergence.kind == "rank"


def met(merged: Value, a: Value, b: Value) -> Value:
    """What such a dict or list holds where two arms meet, one of which fills it: the others have the same keys, and as
    much."""
    entries = dict(b.entries) | dict(a.entries)
    entries |= {key: value for key, value in merged.entries if key in dict(a.entries) and key in dict(b.entries)}
    kept = tuple(entries.items()) if len(entries) <= MOST_ENTRIES else ()
    return merged._replace(length=worse(a.length, b.length), slots=None, entries=kept)


def _is_one(stores: list[_Store], answer: _Answer) -> bool:
    """Whether items are put in at one place under a test: an entry that is set twice is one, two items are two."""
    return sum(answer in s.answers for s in stores) == 1


def _is_of_rank(frame: Frame, test: f.Expr | None) -> bool:
    if test is None:
        return False
    with frame.recording():
        divergence = frame.eval(test).divergence
    return divergence is not None and divergence.kind == "rank"


def _cover(paths: list[frozenset[_Answer]]) -> bool:
    """Whether one of some paths is taken whatever the tests on them come out as."""
    if not paths or frozenset() in paths:
        return bool(paths)
    text = next(iter(paths[0]))[0]
    return all(
        _cover([path - {(text, outcome)} for path in paths if (text, not outcome) not in path])
        for outcome in (True, False)
    )


def _found(body: f.Body) -> tuple[dict[str, list[_Store]], dict[str, f.Expr]]:
    """Where something is put into each dict or list, and what is asked on the way, by its text."""
    tests: dict[str, f.Expr] = {}
    return by_place(_stores(body, frozenset(), "", tests)), tests


def _stores(
    body: f.Body, answers: frozenset[_Answer], walked: str, tests: dict[str, f.Expr]
) -> Iterator[tuple[str, _Store]]:
    """The places in a block where something is put in, each with what it is put into."""
    for s in body:
        if type(s) is f.Assign:
            for target in s.targets:
                if type(target) is f.Subscript and (place := place_name(target.base)):
                    yield place, _Store(target.pos, answers, f"[{render(target.index)}]", walked)
        elif type(s) is f.ExprStmt and type(s.value) is f.Call and type(s.value.func) is f.Attr:
            if s.value.func.attr == "append" and (place := place_name(s.value.func.base)):
                yield place, _Store(s.value.pos, answers, _APPEND, walked)
        elif type(s) is f.If:
            yield from _stores(s.body, answers | _told(s.test, True, tests), walked, tests)
            yield from _stores(s.orelse, answers | _told(s.test, False, tests), walked, tests)
        elif type(s) is f.For:
            yield from _stores(s.body, answers, render(s.iterable), tests)
        elif type(s) is f.With:
            yield from _stores(s.body, answers, walked, tests)
        elif type(s) is f.While or type(s) is f.Try:
            for block in blocks(s):
                # how often, and whether at all
                yield from _stores(block, answers | {(f"@{s.line}", True)}, walked, tests)


def _told(test: f.Expr, outcome: bool, tests: dict[str, f.Expr]) -> frozenset[_Answer]:
    """The outcomes of tests that one tells: `rank != 0` is the opposite of `rank == 0`."""
    found: set[_Answer] = set()
    for part, told in told_parts(test, outcome):
        if type(part) is f.Compare and len(part.ops) == 1 and part.ops[0] in _OPPOSITES:
            part, told = part._replace(ops=(_OPPOSITES[part.ops[0]],)), not told
        tests[render(part)] = part
        found.add((render(part), told))
    return frozenset(found)


_OPPOSITES = {"!=": "==", "is not": "is", "not in": "in"}
