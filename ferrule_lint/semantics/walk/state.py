"""State: what methods leave in the attributes of their instance.

A flag that a method sets under a divergent test differs wherever it is asked for; one that it sets under a test of its
parameters differs where somebody passes something that does. And what a method makes the same on all ranks is the same
for the caller, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import plain
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import constructed
from ferrule_lint.semantics.calls.instantiate import of_parameters
from ferrule_lint.semantics.data.records import MOST_ENTRIES, NAMESPACE
from ferrule_lint.semantics.data.where_given import methods_of
from ferrule_lint.semantics.domain.axes import WORLD, Axes
from ferrule_lint.semantics.domain.conditions import deps_of, divergence_of, implied
from ferrule_lint.semantics.domain.dependences import NO_DEPS, read
from ferrule_lint.semantics.domain.joins import join2
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value, worse
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.project.options import of_instance
from ferrule_lint.semantics.sources import first_rank
from ferrule_lint.semantics.walk import each_of, kept_in_part, set_back, stored

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.summary import Summary
    from ferrule_lint.semantics.walk.frame import Frame

#: how a step ends that says where an attribute was set
SET_THERE = "is set there on some ranks only"
#: attributes that one method's summary tells of
MOST_ATTRIBUTES = 12
_NONE = f.Const("None")


def under_tests(frame: Frame, place: str, value: Value) -> Value:
    """What a place in the instance, or in a parameter, holds that is set under the tests around: a constant is there on
    some ranks only, and another value stands against the None that the others have."""
    if not frame.conditions:
        return value
    divergence = frame.path_divergence()
    if divergence is not None and divergence.kind == "rank" and _counts_rounds(frame, place):
        return value
    if divergence is not None and value.const is not None and set_back.of_instance(frame, place):
        return value
    if divergence is not None and divergence.confidence > Confidence.LOW:
        step = frame.step("flow", None, f"`{place}` {SET_THERE}")
        divergence = divergence.then(step).at_most(Confidence.MEDIUM)
        is_list = value.there and not value.types and not value.external
        if value.const is None and is_list and not _may_be_none(frame, place):
            return value  # another one than the others have
        if value.const is None and any(frame.path_condition() in loop.left for loop in frame.loops):
            return value  # set in each round by all that are still in the loop, who alone ask for it there
        if value.const is None and not _is_own(frame, place):
            return value  # what an object held before is not known
        if value.const is None and value.there and (before := _had_before(frame, place)) is not None:
            # in place of something that the others have, and maybe of another length
            length = worse(value.length, divergence) if before.container else value.length
            return value._replace(length=length, uniform=False)
        if value.const is None and _has_found_file(frame, divergence) and _had_number(frame, place):
            # out of a file that not all have found, in place of a number that the others go on with
            return value._replace(uniform=False, divergence=worse(value.divergence, divergence))
        if value.const is None:
            presence = worse(value.presence, divergence)
            absent = value.absent or _on_first_alone(frame)
            return value._replace(presence=presence, absent=absent, of_some=value.of_some | value.types)
        return value._replace(uniform=False, divergence=worse(value.divergence, divergence))
    if not any(deps_of(c) for c in frame.conditions if divergence_of(c) is None):
        return value
    if value.const is not None:
        by = frame.path_deps()
        there = constructed.of_constructor(by) if value.const == "None" else NO_DEPS
        return value._replace(uniform=False, deps=value.deps | by, presence_deps=value.presence_deps | there)
    if _is_own(frame, place) and _may_be_none(frame, place):
        return value._replace(presence_deps=value.presence_deps | read(frame.path_deps()))
    return value


def _on_first_alone(frame: Frame) -> tuple[str, bool] | None:
    """The test for the first rank of the job, if it is the only one that is here (see `Value.absent`)."""
    alone = any(implied(c, True).get(first_rank.OF_JOB) for c in frame.conditions)
    return (first_rank.OF_JOB, False) if alone else None


def _is_own(frame: Frame, place: str) -> bool:
    """Whether a place is an attribute of the instance, or an entry of something: both are not there otherwise."""
    return place.endswith("]") or (frame.self_name is not None and place.startswith(f"{frame.self_name}."))


def _had_before(frame: Frame, place: str) -> Value | None:
    """What all ranks have put into an attribute of the instance further up (`self.engines = []`)."""
    name = frame.own_attribute(place)
    before = frame.self_writes.get(name) if frame.was_set(name) else None
    return before if before is not None and before.there and before.presence is None else None


def _has_found_file(frame: Frame, why: Divergence) -> bool:
    """Whether what differs is if a file is there: on this host, or under a name of the rank's own."""
    return why.kind == "host" or any(_ASKS_FOR_FILE.search(key) for c in frame.conditions for key in implied(c, True))


_ASKS_FOR_FILE = re.compile(r"\b(l?exists|is_?file|is_?dir)\(")


def _had_number(frame: Frame, place: str) -> bool:
    """Whether all that the method has put into an attribute of the instance further up is one number, or else what the
    constructor has."""
    name = frame.own_attribute(place)
    before = frame.self_writes.get(name) if frame.was_set(name) else None
    if before is not None or frame.self_class is None or not name:
        return before is not None and before.divergence is None and (before.const or "")[:1].isdigit()
    constructor = frame.analysis.names.method(frame.self_class, "__init__")
    if constructor is None or not constructor.parameters:
        return False
    begun = frame.analysis.bodies.assigned(constructor.body, f"{constructor.parameters[0].name}.{name}")
    return bool(begun) and all(type(value) is f.Const and value.text[:1].isdigit() for value in begun)


def _counts_rounds(frame: Frame, place: str) -> bool:
    """Whether a loop in a method of the class goes by an attribute (`for self.epoch in range(n)`): who asks for it is
    in that loop, most often, and what one rank has set elsewhere is gone."""
    name = place.partition(".")[2]
    if not name or not _is_own(frame, place) or frame.self_class is None:
        return False
    return any(
        type(s) is f.For and place_name(s.target) == f"{scope.own}.{name}"
        for scope in methods_of(frame)
        for s in statements(scope.body)
    )


def _may_be_none(frame: Frame, place: str) -> bool:
    """Whether a method of the class sets an attribute to None."""
    name = place.rpartition(".")[2]
    info = frame.self_class
    methods = info.methods.values() if info is not None else ()
    return any(name in frame.analysis.bodies.once(_set_to_none, method.body) for method in methods)


def _set_to_none(body: f.Body) -> frozenset[str]:
    """The attributes that a body sets to None, of whatever object."""
    targets = (t for s in statements(body) if type(s) is f.Assign and s.value == _NONE for t in s.targets)
    return frozenset(t.attr for t in targets if type(t) is f.Attr)


def in_its_place(frame: Frame, result: Value) -> Value:
    """What a method returns that has something of its own host as long as an attribute is not set, and the attribute
    from then on (`if self._total is None: return time.time()`, `return self._total`), where another method sets it:
    what is set there is mostly what all ranks agreed on, and what stands in for it a single process's."""
    if result.divergence is None or result.divergence.kind != "host" or not _stands_in(frame):
        return result
    return result._replace(divergence=result.divergence.at_most(Confidence.LOW))


def _stands_in(frame: Frame) -> bool:
    function, info = frame.function, frame.self_class
    if function is None or info is None or not frame.self_name:
        return False
    found = _last_two(function.body)
    if found is None:
        return False
    test, absent, present = found
    name = test.left.attr if type(test.left) is f.Attr else ""
    if place_name(test.left) != f"{frame.self_name}.{name}" or place_name(present) != place_name(test.left):
        return False
    if place_name(absent) == place_name(present):
        return False
    return any(
        method is not function.origin and method.name != "__init__" and _sets(method.body, name)
        for method in info.methods.values()
    ) and not _sets(function.body, name)


def _last_two(body: f.Body) -> tuple[f.Compare, f.Expr, f.Expr] | None:
    """The test `x is None` by which a function returns one of two things at its end: without it, and with it."""
    body = plain(body)
    for s, after in zip(body[-2:], (*body[-1:], None), strict=False):
        if type(s) is not f.If or type(s.test) is not f.Compare or s.test.rights != (_NONE,) or not s.body:
            continue
        one = s.body[-1]
        other = s.orelse[-1] if s.orelse else after
        if type(one) is f.Return and type(other) is f.Return and one.value is not None and other.value is not None:
            if s.test.ops == ("is",):
                return s.test, one.value, other.value
            if s.test.ops == ("is not",):
                return s.test, other.value, one.value
    return None


def _sets(body: f.Body, name: str) -> bool:
    """Whether an attribute of an instance gets something else than None."""
    return any(
        type(s) is f.Assign and s.value != _NONE and any(type(t) is f.Attr and t.attr == name for t in s.targets)
        for s in statements(body)
    )


def left(frame: Frame) -> tuple[dict[str, Value], dict[str, Axes]]:
    """Of the attributes that a method has set: those whose value depends on who calls or differs, and those that ranks
    have agreed on in it."""
    written = {n: v for n, v in frame.self_writes.items() if _tells(v)}
    prefix = f"{frame.self_name}."
    agreed = {
        place.removeprefix(prefix): axes
        for place, axes in frame.made_uniform.items()
        if frame.self_name and place.startswith(prefix) and place.count(".") <= 2
    }
    for name in frame.self_writes.keys() - written.keys():
        value = frame.env.get(prefix + name, UNKNOWN)
        if value.agreed and value.uniform and not value.tells:
            agreed[name] = WORLD  # a meter's `all_reduce` assigns the sum over all ranks, whatever stood there
    return dict(list(written.items())[:MOST_ATTRIBUTES]), agreed


def _tells(value: Value) -> bool:
    """Whether what an attribute holds differs, or an entry of it does."""
    held = (value, *(entry for _, entry in value.entries))
    return bool(value.deps or value.presence_deps) or any(v.divergence or v.data or v.presence for v in held)


def after_call(frame: Frame, summary: Summary, call: f.Call | None, bound: Mapping[str, Value]) -> None:
    """At a call of a method: its instance's attributes as the method leaves them."""
    if call is None or frame.light:
        return
    each_of.forget(frame, call, summary.function, bool(summary.trace))
    if summary.function is not None and of_instance(call, summary.function):
        base = call.func
    elif type(call.func) is f.Attr:
        base = call.func.base
    else:
        return
    if not (summary.self_writes or summary.self_uniform):
        return
    owner = place_name(base)
    if not owner:
        _in_entry(frame, summary, call, base, bound)
        return
    from ferrule_lint.semantics.calls.agreement import make_uniform
    from ferrule_lint.semantics.walk.given import part_of

    for name, now in _told(frame, summary, call, bound):
        place = f"{owner}.{name}"
        merged = _with(frame.read(place) or frame.eval(part_of(base, f".{name}")), now)
        frame.env[place] = merged
        frame.renew(place)
        kept_in_part.by_its_own_name(frame, owner, name, merged)
        if owner == frame.self_name:
            frame.also_left(name, merged)
        elif frame.own_attribute(owner) and "." not in name:
            frame.also_left(f"{frame.own_attribute(owner)}.{name}", merged)  # a stopper, a meter that it has
    for name, axes in summary.self_uniform.items():
        make_uniform(frame, part_of(base, f".{name}"), axes)


def _told(frame: Frame, summary: Summary, call: f.Call, bound: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    """The attributes that a method leaves in its instance, for the arguments of a call."""
    for name, value in summary.self_writes.items():
        now = of_parameters(frame, value, summary, bound, call.pos)
        if _tells(now):
            yield name, now


def _with(known: Value, now: Value) -> Value:
    """What an attribute holds that a method may have set."""
    return join2(known, now)._replace(const=None, items=None, uniform=False)


def _in_entry(frame: Frame, summary: Summary, call: f.Call, base: f.Expr, bound: Mapping[str, Value]) -> None:
    """The same of an object that a dict holds under a written key: `meters["loss"].update(loss.item())`."""
    if type(base) is not f.Subscript or type(base.index) is not f.Const or not place_name(base.base):
        return
    known = frame.ask(base)
    held = dict(known.entries)
    for name, now in _told(frame, summary, call, bound) if known.types else ():
        held[name] = _with(held.get(name, UNKNOWN), now)
    if len(held) <= MOST_ENTRIES and held != dict(known.entries):
        stored.store_item(frame, base, known._replace(entries=tuple(held.items())))


def handed_back(frame: Frame, expr: f.Expr | None, value: Value) -> Value:
    """An object that a function has made, as it hands it back: with what has been left in it, by its methods or by the
    function (`args.verbose = rank == 0`)."""
    if type(expr) is f.Sequence and value.items is not None and len(value.items) == len(expr.elements):
        items = [handed_back(frame, e, v) for e, v in zip(expr.elements, value.items, strict=True)]
        return value._replace(items=tuple(items))
    if type(expr) is not f.Name or value.module or expr.id in frame.given or frame.light:
        return value
    start = f"{expr.id}."
    held = {p.removeprefix(start): v for p, v in frame.env.items() if p.startswith(start) and p.count(".") == 1}
    # of what is set on an object of a library, or of none that is known, only what differs by itself
    told = bool(value.types) or value.external == NAMESPACE
    left_there = {
        name: v for name, v in held.items() if "[" not in name and (v.divergence or (told and (v.data or v.presence)))
    }
    known = dict(value.entries) | left_there
    return value._replace(entries=tuple(known.items())) if left_there and len(known) <= MOST_ENTRIES else value
