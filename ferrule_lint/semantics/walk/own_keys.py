"""Dicts and sets in attributes of the instance that hold what the rank has met, and nothing else.

`self.seen.add(label)` in one method, and in another `for label in sorted(self.seen)`: what the attribute holds is asked
for without its instance, so that nothing is known of how much there is in it. Of one that all methods begin empty, and
that one method alone puts something in, under one key, more is known: there are as many as there were keys. What a
method has put in beforehand for all classes, or hands to a function that may add to it, is another matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.domain.assigned import given
from ferrule_lint.semantics.domain.text import last_name, place_name, render

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_EMPTY = frozenset({"dict", "OrderedDict", "defaultdict", "set"})
_ADDS = frozenset({"add", "setdefault", "update", "append", "extend", "merge", "__setitem__", "fromkeys"})
#: what only reads what it is given
_READS = frozenset(
    "sorted len list tuple set dict min max sum any all enumerate zip print str repr bool iter reversed isinstance "
    "frozenset deepcopy copy all_gather_object gather_object info debug warning".split()
)


def begun_empty(frame: Frame, place: str, key: f.Expr) -> bool:
    """Whether an attribute of the instance begins empty, and gets nothing but what is met under a key."""
    name, info = frame.own_attribute(place), frame.self_class
    if not name or info is None or type(key) is f.Const:
        return False
    text, made = render(key), False
    for cls in frame.analysis.names.mro(info):
        for method in cls.methods.values():
            if not method.parameters or method.is_static:
                continue
            found = frame.analysis.bodies.once(_done_to, method.body, f"{method.parameters[0].name}.{name}")
            here = {text} if frame.function is not None and method is frame.function.origin else set()
            if not found <= {""} | here:
                return False
            made = made or "" in found
    return made


def _done_to(body: f.Body, place: str) -> frozenset[str]:
    """What a body does to a place: "" if it makes it empty, "*" for anything that is not followed, and the keys under
    which it puts something in."""
    found = set(_assigned(body, place))
    for call in nodes(body, f.Call):
        found.update(_by_call(call, place))
    return frozenset(found)


def _assigned(body: f.Body, place: str) -> Iterator[str]:
    for s in statements(body):
        if type(s) is f.AugAssign:
            yield from _key_of(s.target, place)
        for target, value in given(s):
            if place_name(target) == place:
                yield "" if _is_empty(value) else "*"
            elif type(target) is f.Sequence and any(place_name(one) == place for one in target.elements):
                yield "*"
            else:
                yield from _key_of(target, place)


def _key_of(target: f.Expr, place: str) -> Iterator[str]:
    if place_name(target) == place:
        yield "*"
    if type(target) is f.Subscript and place_name(target.base) == place:
        yield render(target.index)


def _by_call(call: f.Call, place: str) -> Iterator[str]:
    func = call.func
    if type(func) is f.Attr and place_name(func.base) == place and func.attr in _ADDS:
        yield render(call.args[0]) if func.attr in ("add", "setdefault") and call.args else "*"
    elif type(func) is f.Attr and func.attr in _ADDS:
        yield from _key_of(func.base, place)  # `self.rows[key].append(row)`, which a `defaultdict` makes
    if last_name(func) in _READS:
        return
    if any(place_name(value) == place for value in (*call.args, *(value for _, value in call.keywords))):
        yield "*"


def _is_empty(value: f.Expr) -> bool:
    if type(value) is f.Call:
        maker = last_name(value.func)
        return maker in _EMPTY and not value.keywords and (maker == "defaultdict" or not value.args)
    return value == f.Const("None") or (type(value) is f.DictDisplay and not value.keys)
