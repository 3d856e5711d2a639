"""What a loop leaves in each of the objects that it goes through, for whoever goes through them again:
`for callback in self.callbacks: callback.on_epoch_end(loss)`, and then `any(callback.should_stop for callback in
self.callbacks)`.

One object stands for all of them, as one item does for what a list holds: what is known of it is kept under the place
of the list, with `[]` for any of its items, until something else is put there.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.domain.dependences import root_of
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name, root_name
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.trial import Trial

#: what goes through the items of its first argument, and what a dict is asked for
_THROUGH = frozenset("enumerate iter list reversed tuple".split())
_VIEWS = frozenset({"items", "values"})
#: what is called so agrees on something, where nothing else is known of it
_AGREES = re.compile(r"reduce|gather|sync|broadcast", re.IGNORECASE)


def recall(frame: Frame, target: f.Expr, iterable: f.Expr) -> None:
    """At the beginning of a round: the object has what an earlier loop left in it."""
    name, start = _object(target), _each(iterable)
    if name and start:
        for place in [place for place in frame.env if place.startswith(start)]:
            frame.env[f"{name}.{place.removeprefix(start)}"] = frame.env[place]
            frame.renew(f"{name}.{place.removeprefix(start)}")


def left(frame: Frame, target: f.Expr, iterable: f.Expr) -> dict[str, Value]:
    """At the end of a round: what it has left in its object, by the places of the objects."""
    name, start = _object(target), _each(iterable)
    found: dict[str, Value] = {}
    for place in [place for place in frame.env if name and start and place.startswith(f"{name}.")]:
        attribute, value = place.removeprefix(f"{name}."), frame.env[place]
        if attribute.isidentifier() and (_differs(value) or start + attribute in frame.env):
            found[start + attribute] = value
            frame.renew(start + attribute)
    return found


def agreed(frame: Frame, loop: f.For, communicates: bool) -> None:
    """Behind a loop whose rounds communicate, or say so: the ranks may have agreed on what is in the objects that it
    goes through, also in those of which more is known by their keys."""
    holder = _each(loop.iterable).removesuffix("[].")
    if holder not in _holders(frame) and _attribute(frame, holder) not in frame.self_writes:
        return  # of most loops nothing is known that could be agreed on
    if communicates or any(_AGREES.search(last_name(call.func)) for call in nodes(loop.body, f.Call)):
        _forget_parts(frame, holder)


def made_anew(frame: Frame, loop: f.For, enter: Callable[[], None]) -> tuple[str, Value] | None:
    """The dict that a loop goes through whose first statement sets each entry anew, and what it sets:
    `for name in sums: sums[name] = sums[name].sum(dim=0)`."""
    first, place = loop.body[0] if loop.body else None, _each(loop.iterable).removesuffix("[].")
    if type(first) is not f.Assign or len(first.targets) != 1 or first.value is None or not place:
        return None
    target, key = first.targets[0], loop.target
    if type(key) is f.Sequence and _last_of(loop.iterable) == "items" and len(key.elements) == 2:
        key = key.elements[0]
    elif type(key) is not f.Name or _last_of(loop.iterable) not in ("", "keys", "list"):
        return None
    if type(target) is not f.Subscript or place_name(target.base) != place or type(key) is not f.Name:
        return None
    if type(target.index) is not f.Name or target.index.id != key.id or any(map(_ends_round, statements(loop.body))):
        return None
    before = dict(frame.env)
    with frame.recording(), Trial(frame):
        enter()
        value = frame.eval(first.value)
    frame.env = before
    return place, value


def _last_of(iterable: f.Expr) -> str:
    """By what call a dict is gone through: "" for itself."""
    return last_name(iterable.func) if type(iterable) is f.Call else ""


def _ends_round(s: f.Stmt) -> bool:
    return type(s) is f.Break or type(s) is f.Return


def of_new_sizes(frame: Frame, made: tuple[str, Value] | None) -> None:
    """Behind such a loop: the items are of the sizes that they got in it, all of them."""
    known = frame.env.get(made[0]) if made is not None else None
    if made is not None and known is not None:
        _, new = made
        frame.env[made[0]] = known._replace(shape=new.shape, padded=new.padded, shape_deps=new.shape_deps)


def forget(frame: Frame, call: f.Call, callee: FunctionInfo | None, communicates: bool) -> None:
    """Behind a call that communicates, or says so by its name: the ranks may have agreed on what is in the objects that
    it could reach: in what it is given, in what it is called on, or what a method names of its instance."""
    if not (communicates or _AGREES.search(last_name(call.func))):
        return
    reached = {root_name(expr) for expr in (*call.args, *(value for _, value in call.keywords))}
    base = call.func.base if type(call.func) is f.Attr else None
    for holder in _holders(frame):
        of_base = root_of(holder) == root_name(base)
        if root_of(holder) in reached or (of_base and (type(base) is not f.Name or _names(callee, holder))):
            _forget_parts(frame, holder)


def _holders(frame: Frame) -> list[str]:
    """The places of what holds things of which something is known one by one."""
    held = (place for place, value in frame.env.items() if "[" in place or (value.entries and _has_objects(value)))
    return list(dict.fromkeys(place.partition("[")[0] for place in held))


def _names(method: FunctionInfo | None, holder: str) -> bool:
    """Whether a method names an attribute. It is read only where something is known of that, since a caller rests on
    what it has read."""
    name = holder.rpartition(".")[2]
    return method is not None and any(node.attr == name for node in nodes(method.body, f.Attr))


def _forget_parts(frame: Frame, holder: str) -> None:
    for place in [place for place in frame.env if place == holder or place.startswith(f"{holder}[")]:
        value = frame.env[place]
        if "[]." in place or (place != holder and not value.types and _differs(value)):
            del frame.env[place]  # of an object of unknown class more is kept as what an entry holds
        elif value.entries:
            frame.env[place] = _without_parts(value, place != holder)
    name = _attribute(frame, holder)
    if name in frame.self_writes:
        frame.self_writes[name] = _without_parts(frame.self_writes[name], False)


def _attribute(frame: Frame, holder: str) -> str:
    return holder.removeprefix(f"{frame.self_name}.") if frame.self_name else ""


def _has_objects(value: Value) -> bool:
    return any(entry.entries and entry.types for _, entry in value.entries)


def _without_parts(value: Value, one: bool) -> Value:
    """An object (`one`), or what holds some, without what is known of their attributes."""
    if one:
        return value._replace(entries=()) if value.types else value
    return value._replace(entries=tuple([(k, _without_parts(v, True)) for k, v in value.entries]))


def _differs(value: Value) -> bool:
    return bool(value.divergence or value.data or value.presence or value.deps)


def _object(target: f.Expr) -> str:
    """The name of the object in a round: the last one beside a number or key."""
    if type(target) is f.Sequence and len(target.elements) == 2:
        target = target.elements[1]
    return target.id if type(target) is f.Name else ""


def _each(iterable: f.Expr) -> str:
    """How the places of the objects begin that are gone through."""
    while type(iterable) is f.Call:
        if last_name(iterable.func) in _THROUGH and len(iterable.args) == 1:
            iterable = iterable.args[0]
        elif type(iterable.func) is f.Attr and iterable.func.attr in _VIEWS and not iterable.args:
            iterable = iterable.func.base
        else:
            return ""
    place = place_name(iterable)
    return f"{place}[]." if place else ""
