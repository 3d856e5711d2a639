"""What is taken out of a list or dict: `del found[key]`, `xs.remove(x)`, `xs.pop()`.

Where only some ranks do, they have an item less from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.assigned import by_place
from ferrule_lint.semantics.domain.lattice import Divergence, Value, worse
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: methods of lists, dicts and queues that take something out
METHODS = frozenset({"pop", "popleft", "popitem", "remove", "discard"})


def by_method(frame: Frame, call: f.Call, receiver: Value) -> None:
    """`xs.remove(x)`, `found.pop(key)`."""
    base = call.func.base if type(call.func) is f.Attr else None
    place = place_name(base)
    if place and (not frame.light or frame.own_attribute(place)):
        key = call.args[0] if call.args and last_name(call.func) == "pop" and not _is_index(call.args[0]) else None
        known = frame.read(place) or receiver
        if _is_of_items(call) and known.slots is None and not (known.agreed or known.data or known.divergence):
            known = known._replace(container=True)
        _taken_out(frame, place, known, key, call.pos)


def _is_of_items(call: f.Call) -> bool:
    """`xs.pop()`, `xs.pop(0)`, `xs.popleft()`, `xs.discard(x)`: of a list, queue or set, since a dict is asked for a
    key."""
    name = last_name(call.func)
    if name not in ("pop", "popleft"):
        return name == "discard"
    return not call.keywords and (not call.args or (len(call.args) == 1 and _is_index(call.args[0])))


def _is_index(key: f.Expr) -> bool:
    """Whether something that is taken out is called by its place in a list."""
    return type(key) is f.Const and key.text.isdigit()


def by_delete(frame: Frame, target: f.Expr) -> None:
    """`del found[key]`."""
    if type(target) is f.Subscript and (place := place_name(target.base)) and not frame.light:
        known = frame.read(place)
        if known is not None:
            _taken_out(frame, place, known, target.index, target.pos)


def _taken_out(frame: Frame, place: str, known: Value, key: f.Expr | None, pos: f.Pos) -> None:
    text = key.text if type(key) is f.Const else ""
    if known.length is not None and known.length.own_entry:
        # the entry that only some ranks have may be this one
        frame.env[place] = known = known._replace(length=known.length._replace(own_entry=False))
    if known.slots is not None and text in known.slots:
        left = known._replace(slots=known.slots - {text})  # where the arms meet one sees which of them have it
    elif (guard := _alone(frame, pos)) is not None and _is_filled_here(known, key):
        more = guard.then(frame.step("flow", pos, f"`{place}` loses items on some ranks only"))
        left = known._replace(length=worse(known.length, more.at_most(Confidence.MEDIUM)), slots=None, uniform=False)
    else:
        return
    left = left._replace(items=None, const=None, entries=tuple(e for e in left.entries if e[0] != text))
    frame.env[place] = left
    frame.renew(place)
    if name := frame.own_attribute(place):
        frame.also_left(name, left)


def _alone(frame: Frame, pos: f.Pos) -> Divergence | None:
    """Why some ranks alone come to where something is taken out, and the others to no place where as much is."""
    body = frame.function.body if frame.function is not None else frame.module.body
    return frame.path_divergence(pos in frame.analysis.bodies.once(_of_both_arms, body))


def _of_both_arms(body: f.Body) -> frozenset[f.Pos]:
    """Where one arm of a test takes an item out of what the other arm takes one out of as well, each at one place."""
    found: set[f.Pos] = set()
    for s in statements(body):
        if type(s) is f.If and s.orelse:
            one, other = _places_of(s.body), _places_of(s.orelse)
            for place in one.keys() & other.keys():
                if len(one[place]) == len(other[place]) == 1:
                    found.update((*one[place], *other[place]))
    return frozenset(found)


def _places_of(arm: f.Body) -> dict[str, list[f.Pos]]:
    """The calls in an arm that take an item out of something, by what that is."""
    calls = [call for call in nodes(arm, f.Call) if type(call.func) is f.Attr and call.func.attr in METHODS]
    return by_place((place_name(call.func.base), call.pos) for call in calls if type(call.func) is f.Attr)


def _is_filled_here(value: Value, key: f.Expr | None) -> bool:
    """Whether it is a list or dict of which the function has seen how it was made. Of a dict that somebody else may
    have filled, an optional entry is taken out, which makes it neither empty nor another one for who walks it."""
    return value.slots is not None or value.items is not None or (value.container and key is None)
