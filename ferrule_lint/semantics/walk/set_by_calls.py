"""Flags that a method sets which only some ranks call, and what it fills: `if rank == 0: self.stopper.update(loss)`,
`if tokens > 0: self.record("loss", loss)`, `if images is not None: self.meter.update(loss)`.

What a method leaves in its instance is otherwise followed where it differs by itself, or depends on what is passed. A
flag that is set on every way, or by tests of which nothing is known, differs where only some ranks come by the call; so
do how much there is in what the method adds to, and what it counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.control import process_ends
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.joins import join2
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value, worse
from ferrule_lint.semantics.domain.text import called_name, place_name, shown
from ferrule_lint.semantics.project.fills import FIRST, ITEMS, KEYWORDS, MAKING
from ferrule_lint.semantics.walk import kept_in_part
from ferrule_lint.semantics.walk.stored import is_empty

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: how many calls of own methods below the one that only some ranks make flags are looked for
DEEPEST = 2
#: by which some ranks make the call and the others do not
_KINDS = frozenset({"rank", "data", "host"})
_FLAGS = frozenset({"True", "False"})


def after_call(frame: Frame, function: FunctionInfo, info: ClassInfo | None, call: f.Call | None) -> None:
    """At a call of a method that only some ranks make: what it does to its instance."""
    if call is None or info is None or not frame.conditions or function.is_static or function.is_class_method:
        return
    guard = frame.path_divergence()
    if guard is None or guard.kind not in _KINDS or guard.confidence <= Confidence.LOW or guard.assumed:
        return
    base = _instance(function, call)
    owner = place_name(base) if base is not None else ""
    if base is None or not owner or owner.startswith("super("):
        return
    for name, (flag, surely) in _flags(frame, function, info).items():
        place = f"{owner}.{name}"
        before = frame.read(place)
        if before is None:
            with frame.recording():
                before = frame.eval(f.Attr(base, name, call.pos))
        if before.const == flag or (before.divergence is not None and not frame.light):
            continue  # in the second layer, the first may tell of this very call
        if _by_others(frame, call, owner, place, info, flag):
            if surely:
                frame.env[place] = Value(uniform=True, const=flag)
                frame.renew(place)
            continue
        frame.write(place, Value(uniform=True, const=flag))
        set_here = frame.analysis.as_state(frame, place, Value(uniform=True, const=flag))
        if not surely:
            frame.env[place] = join2(before, set_here)._replace(const=None, items=None, uniform=False)
        kept_in_part.leave(frame, owner, name, set_here)
    if _is_near(frame, owner):
        _fill(frame, function, info, call, owner, guard)
        if guard.kind != "rank":
            _count(frame, function, call, owner, guard)


def _is_near(frame: Frame, owner: str) -> bool:
    """Whether an object is a local one, the instance itself, or an attribute of that."""
    root, _, part = owner.partition(".")
    return not part or (root == frame.self_name and "." not in part)


def _count(frame: Frame, function: FunctionInfo, call: f.Call, owner: str, guard: Divergence) -> None:
    """What a method counts, under a test: the others have counted less."""
    for name in () if _adds_elsewhere(frame, call, ITEMS) else function.traits.counted:
        place = f"{owner}.{name}"
        step = frame.step("flow", call.pos, f"`{place}` counts on some ranks only")
        known = frame.read(place) or UNKNOWN
        if known.divergence is None and not known.agreed:
            more = guard.then(step).at_most(Confidence.MEDIUM)
            frame.leave_changed(place, Value(divergence=more, there=True))


def _fill(frame: Frame, function: FunctionInfo, info: ClassInfo, call: f.Call, owner: str, guard: Divergence) -> None:
    """What a method of its own, or of a part, adds to, under a test: the others have an item less."""
    for name, fill in function.traits.filled.items():
        if not _begins_empty(frame, info, name, fill.to_entry) or _adds_elsewhere(frame, call, fill.key):
            continue
        if guard.kind == "rank" and fill.key:
            continue  # an entry of its own, which loops over the others pass over
        if fill.key and not _is_in_an_arm(frame, call):
            continue  # who has left this round, or call, makes the entry in another
        if fill.key and _others_have_ended(frame, call):
            continue
        place = f"{owner}.{name}"
        step = frame.step("flow", call.pos, f"`{place}` gets items on some ranks only")
        more = guard.then(step).at_most(Confidence.MEDIUM)
        known = frame.read(place) or UNKNOWN
        frame.leave_changed(place, known._replace(length=worse(known.length, more), uniform=False, const=None))


def _is_in_an_arm(frame: Frame, call: f.Call) -> bool:
    """Whether a call stands in an arm of a test, and not only behind one that leaves."""
    body = frame.function.body if frame.function is not None else ()
    return call.pos in frame.analysis.bodies.once(_in_arms, body)


def _in_arms(body: f.Body) -> frozenset[f.Pos]:
    """Where the calls in arms of tests stand."""
    return frozenset([call.pos for s in nodes(body, f.If) for call in nodes((s.body, s.orelse), f.Call)])


def _others_have_ended(frame: Frame, call: f.Call) -> bool:
    """Whether the other arm of the one test that tells ranks apart here ends the process: all that are left make this
    call."""
    if sum(divergence_of(formula) is not None for formula in frame.conditions) != 1 or frame.function is None:
        return False
    return call.pos in frame.analysis.bodies.once(_beside_an_end, frame.function.body)


def _beside_an_end(body: f.Body) -> frozenset[f.Pos]:
    """Where the calls in arms of tests stand whose other arm ends the process, or the function by an exception."""
    tests = [(s.body, s.orelse) for s in nodes(body, f.If)]
    arms = [(arm, other) for a, b in tests for arm, other in ((a, b), (b, a))]
    return frozenset([call.pos for arm, other in arms if other and _ends(other[-1]) for call in nodes(arm, f.Call)])


def _ends(s: f.Stmt) -> bool:
    if type(s) is f.ExprStmt and type(s.value) is f.Call:
        return bool(process_ends.status_of(s.value))
    return type(s) is f.Raise


def _keys(call: f.Call, key: str) -> frozenset[str] | None:
    """By what a call tells the entries apart that it adds to; None if it does not, or that cannot be told."""
    if key == FIRST and call.args:
        return frozenset({shown(call.args[0])})
    if key == KEYWORDS and all(name is not None for name, _ in call.keywords):
        return frozenset(name for name, _ in call.keywords if name is not None)
    return None


def _begins_empty(frame: Frame, info: ClassInfo, name: str, makes_entries: bool) -> bool:
    """Whether the class makes an attribute a list or dict with nothing in it; `makes_entries`: one that makes entries
    where they are missing."""
    methods = (method for c in frame.analysis.names.mro(info) for method in c.methods.values() if method.parameters)
    return any(
        is_empty(value) and (not makes_entries or called_name(value) in MAKING)
        for m in methods
        for value in _assigned(m, f"{m.parameters[0].name}.{name}")
    )


def _adds_elsewhere(frame: Frame, call: f.Call, key: str) -> bool:
    """Whether the function makes the same call at another place, under one of the same keys if these tell entries
    apart."""
    keys = _keys(call, key)
    return any(
        type(item) is f.Call
        and item.pos != call.pos
        and shown(item.func) == shown(call.func)
        and (keys is None or not keys.isdisjoint(_keys(item, key) or keys))
        for item in walk(frame.function.body if frame.function is not None else ())
    )


def _instance(function: FunctionInfo, call: f.Call) -> f.Expr | None:
    if function.name == "__call__":
        return call.func
    return call.func.base if type(call.func) is f.Attr and call.func.attr == function.name else None


def _flags(frame: Frame, function: FunctionInfo, info: ClassInfo, depth: int = 0) -> dict[str, tuple[str, bool]]:
    """Attributes to which a method assigns True, or False, and nothing else, itself or by methods that it calls: which
    of them, and whether in any case."""
    own = function.parameters[0].name if function.parameters else ""
    found: dict[str, tuple[str, bool]] = {}
    other: set[str] = set()
    for item in walk(function.body) if depth < DEEPEST else ():
        if type(item) is f.Call and type(item.func) is f.Attr and place_name(item.func.base) == own:
            method = frame.analysis.names.method(info, item.func.attr)
            if method is not None and method is not function.origin:
                for name, (flag, _) in _flags(frame, method, info, depth + 1).items():
                    if found.setdefault(name, (flag, False))[0] != flag:
                        other.add(name)
    for s in statements(function.body):
        for target in s.targets if type(s) is f.Assign else (s.target,) if type(s) is f.AugAssign else ():
            place = place_name(target)
            if not place.startswith(f"{own}.") or place.count(".") != 1:
                continue
            name = place.partition(".")[2]
            value = s.value.text if type(s) is f.Assign and type(s.value) is f.Const else ""
            if value not in _FLAGS or found.get(name, (value,))[0] != value:
                other.add(name)
            else:
                found[name] = (value, s in function.body or found.get(name, (value, False))[1])
    return {name: flag for name, flag in found.items() if name not in other}


def _by_others(frame: Frame, call: f.Call, owner: str, place: str, info: ClassInfo, flag: str) -> bool:
    """Whether the function, at another place, sets the same flag alike, or the class gives it what ranks may have
    agreed on."""
    function, holder = frame.function, frame.self_class
    if function is None:
        return False
    for item in walk(function.body):
        if type(item) is not f.Call or item.pos == call.pos or type(item.func) is not f.Attr:
            continue
        method = frame.analysis.names.method(info, item.func.attr) if place_name(item.func.base) == owner else None
        if method is not None and _flags(frame, method, info).get(place.rpartition(".")[2], ("",))[0] == flag:
            return True
    methods = holder.methods.values() if holder is not None else ()
    given = [
        *_assigned(function, place),
        *(v for m in methods if m is not function.origin for v in _assigned(m, place, False)),
    ]
    return any(type(v) is not f.Const or v.text == flag for v in given)


def _assigned(function: FunctionInfo, place: str, here: bool = True) -> Iterator[f.Expr]:
    """What a function assigns to a place; of other functions, what is no constant."""
    for s in statements(function.body):
        if type(s) is not f.Assign or s.value is None or (not here and type(s.value) is f.Const):
            continue
        if any(place_name(t) == place for t in s.targets):
            yield s.value
