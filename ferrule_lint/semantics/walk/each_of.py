"""What a loop leaves in each of the objects that it goes through, for whoever goes through them again:
`for callback in self.callbacks: callback.on_epoch_end(loss)`, and then `any(callback.should_stop for callback in
self.callbacks)`.

One object stands for all of them, as one item does for what a list holds: what is known of it is kept under the place
of the list, with `[]` for any of its items, until something else is put there.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.dependences import root_of
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name, root_name
from ferrule_lint.semantics.walk.frame import Frame

#: what goes through the items of its first argument, and what a dict is asked for
_THROUGH = frozenset("enumerate iter list reversed tuple".split())
_VIEWS = frozenset({"items", "values"})


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


def forget(frame: Frame, call: f.Call) -> None:
    """Behind a call that communicates: the ranks may have agreed on what is in the objects that it could reach."""
    reached = [call.func.base] if type(call.func) is f.Attr else []
    names = {root_name(expr) for expr in (*reached, *call.args, *(value for _, value in call.keywords))}
    for place in [place for place in frame.env if "[]." in place and root_of(place) in names]:
        del frame.env[place]


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
