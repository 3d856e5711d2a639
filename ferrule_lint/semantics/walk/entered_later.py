"""Entries that some ranks put into a dict before all of them make sure that it is there.

`if mask.any(): metrics["loss"] = loss`, and behind it `metrics.setdefault("loss", zero)`, `if "loss" not in metrics:
metrics["loss"] = zero`, or a loop that does so for each of some keys: who walks the dict then finds as many entries as
everybody. What it is filled up with has to stand where all come by who come to the test, and before the dict is walked
or handed on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, way_to
from ferrule_lint.semantics.domain.assigned import appended_to
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import length_of, place_name, render
from ferrule_lint.semantics.project.options import passed
from ferrule_lint.semantics.walk.handed_back import called_by_text

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


#: statements behind a test that are looked at
FARTHEST = 100


def in_both(frame: Frame, place: str, a: Value, b: Value, line: int) -> tuple[Value, Value]:
    """What a place holds in the arms of a test at a line: with the keys of both, where all are entered behind it."""
    if a.slots is None or b.slots is None or a.slots == b.slots:
        return a, b
    if not all(is_entered(frame, place, key, line) for key in a.slots ^ b.slots):
        return a, b
    return a._replace(slots=a.slots | b.slots), b._replace(slots=a.slots | b.slots)


def is_entered(frame: Frame, place: str, key: str | None, line: int, apart: bool = False) -> bool:
    """Whether an entry is there on all ranks behind the statement at a line; None: under a key that is not written out,
    which a loop over keys may enter. `apart`: the arms of tests that the statement stands in do not count."""
    if frame.function is None or not place:
        return False
    if place not in frame.analysis.bodies.once(_filled_up, frame.function.body):
        return False
    way = way_to(frame.function.body, (line, 1))
    if apart:
        outer = next((i for i, (block, number) in enumerate(way) if type(block[number]) is f.If), len(way))
        way = way[: outer + 1]
    left = FARTHEST
    for block, number in reversed(way):
        asked = block[number]
        used = frame.analysis.bodies.once(_used, block)
        for i, s in enumerate(block[number + 1 : number + 1 + left], number + 1):
            left -= 1
            if _enters(s, place, key) or _enters_otherwise(asked, s, place, key) or _is_by_call(frame, s, place, key):
                return True
            if place in used[i]:
                return False
    return False


def after_loop(frame: Frame, s: f.For) -> None:
    """A loop that enters a value for each of some keys, where that is missing, leaves as many on all ranks, whoever has
    made the dict: `for key in NAMES: metrics.setdefault(key, zero)`."""
    if frame.path_divergence() is not None or type(s.target) is not f.Name:
        return
    for place in {place_name(node.base) for node in nodes(s.body, f.Subscript)} | _asked_for_defaults(s.body):
        value = frame.env.get(place)
        if value is not None and value.length is not None and _fills(s, place):
            frame.env[place] = value._replace(length=None, emptiness=None)


def _asked_for_defaults(body: f.Body) -> set[str]:
    methods = [call.func for call in nodes(body, f.Call) if type(call.func) is f.Attr]
    return {place_name(method.base) for method in methods if method.attr == "setdefault"}


def _fills(s: f.For, place: str) -> bool:
    """Whether each round sets an entry only where it is missing: what is there is no matter."""
    return any(
        _sets_missing(one, place, s.target)
        or (type(one) is f.ExprStmt and _is_default(one.value, place, s.target, ("setdefault",)))
        for one in s.body
    )


def completed(base: Value, key: str, divergence: Divergence | None) -> bool:
    """Whether all ranks have as many entries once they all have this one: it is the only one that some lacked, and that
    is why there were more on some."""
    if divergence is not None or base.length is None:
        return False
    lacking = [(name, entry.presence) for name, entry in base.entries if entry.presence is not None]
    return len(lacking) == 1 and lacking[0][0] == key and lacking[0][1].why[:1] == base.length.why[:1]


def _filled_up(body: f.Body) -> frozenset[str]:
    """The dicts which a body may make sure of: it enters something twice, asks for defaults or makes another of it."""
    stored = Counter(place_name(s.base) for s in nodes(body, f.Subscript))
    called = {place_name(c.func.base) for c in nodes(body, f.Call) if type(c.func) is f.Attr}
    displays = nodes(body, f.DictDisplay)
    spread = {place_name(v) for d in displays for k, v in zip(d.keys, d.values, strict=True) if k is None}
    joined = {place_name(o) for op in nodes(body, f.Op) if op.kind == "BitOr" for o in op.operands}
    handed = {place_name(a) for c in nodes(body, f.Call) for a in c.args}
    twice = {place for place, number in stored.items() if number > 1}
    return frozenset(twice | called | spread | joined | handed) - {""}


def _enters(s: f.Stmt, place: str, key: str | None) -> bool:
    if type(s) is f.For:
        return (
            _is_among(s.iterable, key)
            and type(s.target) is f.Name
            and any(_sets(one, place, s.target) or _sets_missing(one, place, s.target) for one in s.body)
        )
    if key is None:
        return _spreads(s, place, key)
    written = f.Const(key)
    if key == "0" and _begins(s, place):
        return True
    return _sets(s, place, written) or _sets_missing(s, place, written) or _spreads(s, place, key)


def _enters_otherwise(asked: f.Stmt, s: f.Stmt, place: str, key: str | None) -> bool:
    """`if mask.any(): ...` and then `if not mask.any(): place[key] = value`."""
    if type(asked) is not f.If or type(s) is not f.If or key is None:
        return False
    one, other = s.test, asked.test
    if render(one) != render(f.Not(other)) and render(other) != render(f.Not(one)):
        return False
    return any(_sets(one, place, f.Const(key)) for one in s.body)


def _is_by_call(frame: Frame, s: f.Stmt, place: str, key: str | None) -> bool:
    """The same by a function of the project that is handed the dict: `fill(metrics)`, `metrics = filled(metrics)`."""
    call = s.value if type(s) is f.ExprStmt or type(s) is f.Assign else None
    if type(call) is not f.Call or frame.function is None:
        return False
    if place not in map(place_name, (*call.args, *(value for _, value in call.keywords))):
        return False
    called, receiver = called_by_text(frame.analysis, frame.function, call.func)
    if called is None:
        return False
    own = [p.name for p in called.parameters if place_name(passed(call, called, receiver, p.name)) == place]
    return any(_enters(one, name, key) for name in own for one in called.body)


def _begins(s: f.Stmt, place: str) -> bool:
    """`if not place: place.append(value)`, `if len(place) == 0: place = [value]`: the only item of a list."""
    if type(s) is not f.If:
        return False
    test = s.test
    if type(test) is f.Not:
        empty = place_name(test.operand) == place or place_name(length_of(test.operand)) == place
    else:
        empty = type(test) is f.Compare and test.ops in (("==",), ("<",)) and place_name(length_of(test.left)) == place
        empty = empty and type(test) is f.Compare and test.rights[0] == f.Const("0" if test.ops[0] == "==" else "1")
    return empty and any(_is_first(one, place) for one in s.body)


def _is_first(s: f.Stmt, place: str) -> bool:
    if type(s) is f.Assign:
        one = type(s.value) is f.Sequence and len(s.value.elements) == 1
        return one and any(place_name(t) == place for t in s.targets)
    return appended_to(s) == place


def _is_among(iterable: f.Expr, key: str | None) -> bool:
    """Whether a loop may come to a key: it goes over something unknown, or the key is written there."""
    if type(iterable) is not f.Sequence:
        return True
    return any(type(e) is f.Const and e.text == key for e in iterable.elements)


def _sets(s: f.Stmt, place: str, key: f.Expr) -> bool:
    """`place[key] = value`, `place.setdefault(key, value)`."""
    if type(s) is f.Assign:
        if any(_is_entry(target, place, key) for target in s.targets):
            return True
        return _is_default(s.value, place, key)
    return type(s) is f.ExprStmt and _is_default(s.value, place, key)


_SETTLE = ("setdefault", "update", "pop")


def _is_default(call: f.Expr | None, place: str, key: f.Expr, methods: tuple[str, ...] = _SETTLE) -> bool:
    """`setdefault(key, value)`; or `update(...)` with the key, or `pop(key, ...)`, after which nobody has it."""
    if type(call) is not f.Call or type(call.func) is not f.Attr or place_name(call.func.base) != place:
        return False
    if call.func.attr not in methods:
        return False
    if call.func.attr == "update":
        displays = [a for a in call.args if type(a) is f.DictDisplay]
        keys = [k for d in displays for k in d.keys if k is not None]
        named = type(key) is f.Const and any(repr(name) == key.text for name, _ in call.keywords)
        return named or any(_same(k, key) for k in keys)
    return bool(call.args) and _same(call.args[0], key)


def _sets_missing(s: f.Stmt, place: str, key: f.Expr) -> bool:
    """`if key not in place: place[key] = value`, also by `place.get(key) is None`."""
    if type(s) is not f.If or type(s.test) is not f.Compare or len(s.test.ops) != 1:
        return False
    left, op, right = s.test.left, s.test.ops[0], s.test.rights[0]
    if op in ("not in", "in"):
        if type(right) is f.Call and type(right.func) is f.Attr and right.func.attr == "keys":
            right = right.func.base
        asks = place_name(right) == place and _same(left, key)
        arm = s.body if op == "not in" else s.orelse
    else:
        got = left if type(left) is f.Call and type(left.func) is f.Attr and left.func.attr == "get" else None
        asks = got is not None and type(got.func) is f.Attr and place_name(got.func.base) == place
        asks = asks and got is not None and len(got.args) == 1 and _same(got.args[0], key)
        asks = asks and op in ("is", "is not") and type(right) is f.Const and right.text == "None"
        arm = s.body if op == "is" else s.orelse
    return asks and any(_sets(one, place, key) for one in arm)


def _spreads(s: f.Stmt, place: str, key: str | None) -> bool:
    """`place = {"loss": zero, **place}`, `full = {**defaults, **place}`."""
    made = s.value if type(s) is f.Assign else None
    if type(made) is f.DictDisplay:
        parts = [v for k, v in zip(made.keys, made.values, strict=True) if k is None]
        displays = [made]
    elif type(made) is f.Op and made.kind == "BitOr":
        parts = [o for o in made.operands if type(o) is not f.DictDisplay]
        displays = [o for o in made.operands if type(o) is f.DictDisplay]
    else:
        return False
    if place not in map(place_name, parts):
        return False
    return len(parts) > 1 or any(type(k) is f.Const and k.text == key for d in displays for k in d.keys)


def _is_entry(target: f.Expr, place: str, key: f.Expr) -> bool:
    return type(target) is f.Subscript and place_name(target.base) == place and _same(target.index, key)


def _same(one: f.Expr, other: f.Expr) -> bool:
    if type(one) is f.Const and type(other) is f.Const:
        return one.text == other.text
    return type(one) is f.Name and type(other) is f.Name and one.id == other.id


def _used(block: f.Body) -> list[set[str]]:
    """The places of dicts that each statement of a block may walk, or hand on."""
    return [set(_used_by(s)) for s in block]


def _used_by(s: f.Stmt) -> Iterator[str]:
    for call in nodes((s,), f.Call):
        yield from map(place_name, (*call.args, *(v for _, v in call.keywords)))
    if type(s) is f.Return:
        yield place_name(s.value)
    walked = [*(loop.iterable for loop in nodes((s,), f.For)), *(g.iterable for g in nodes((s,), f.Generator))]
    for iterable in walked:
        yield from map(place_name, nodes(iterable, f.Name))
        yield from map(place_name, nodes(iterable, f.Attr))
