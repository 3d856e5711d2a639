"""What is taken out of a list or dict: `del found[key]`, `xs.remove(x)`, `xs.pop()`.

Where only some ranks do, they have an item less from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.lattice import Value, worse
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: methods of lists, dicts and queues that take something out
METHODS = frozenset({"pop", "popleft", "popitem", "remove", "discard"})


def by_method(frame: Frame, call: f.Call, receiver: Value) -> None:
    """`xs.remove(x)`, `found.pop(key)`."""
    base = call.func.base if type(call.func) is f.Attr else None
    place = place_name(base)
    if place and not frame.light:
        key = call.args[0] if call.args and last_name(call.func) == "pop" else None
        known = frame.read(place) or receiver
        if _is_by_place(call) and known.slots is None and not (known.agreed or known.data or known.divergence):
            known = known._replace(container=True)
        _taken_out(frame, place, known, key, call.pos)


def _is_by_place(call: f.Call) -> bool:
    """`xs.pop()`, `xs.popleft()`: of a list or a queue, since a dict is asked for a key."""
    return last_name(call.func) in ("pop", "popleft") and not call.args and not call.keywords


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
    elif (guard := frame.path_divergence()) is not None and _is_filled_here(known, key):
        more = guard.then(frame.step("flow", pos, f"`{place}` loses items on some ranks only"))
        left = known._replace(length=worse(known.length, more.at_most(Confidence.MEDIUM)), slots=None, uniform=False)
    else:
        return
    left = left._replace(items=None, const=None, entries=tuple(e for e in left.entries if e[0] != text))
    frame.env[place] = left
    frame.renew(place)
    if name := frame.own_attribute(place):
        frame.also_left(name, left)


def _is_filled_here(value: Value, key: f.Expr | None) -> bool:
    """Whether it is a list or dict of which the function has seen how it was made. Of a dict that somebody else may
    have filled, an optional entry is taken out, which makes it neither empty nor another one for who walks it."""
    return value.slots is not None or value.items is not None or (value.container and key is None)
