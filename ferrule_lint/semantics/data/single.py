"""Sets that hold one item at most, and so have no order to mix up: the keys of a dict that match a pattern, where no
more than one of the keys that the function itself writes out does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.data.ordering import VIEWS
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.text import last_name, place_name, render

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: calls that leave alone what they are given
_LOOKS = frozenset("isinstance len print type str bool sorted list dict OrderedDict".split())
#: methods of a dict or set that leave it alone
_READS = frozenset("get items keys values copy to_dict issubset issuperset union intersection".split())
#: methods that hand back a dict with the same keys
_FORMS = ("to_dict", "copy", "_asdict")


def at_most_one(frame: Frame, expr: f.Expr) -> bool:
    """`for key in matching`, where all that fills the set is `matching.update(k for k in outputs if "loss" in k)`
    and `outputs` has one such key."""
    if type(expr) is not f.Name or frame.function is None:
        return False
    body = frame.function.body
    made = [value for value, _ in assignments(body, expr.id)]
    if not made or not all(map(_is_empty_set, made)) or _is_changed_in_place(body, expr.id):
        return False
    filled = [_filtered(call) for call in _changes(body, expr.id)]
    names = {place_name(kept.generators[0].iterable) for kept in filled if kept is not None}
    if None in filled or len(names) != 1:
        return False
    keys = _keys(body, names.pop())
    if keys is None:
        return False
    return len([key for key in keys if any(_may_match(body, kept, key) for kept in filled if kept is not None)]) <= 1


def _is_empty_set(expr: f.Expr) -> bool:
    if type(expr) is not f.Call or last_name(expr.func) not in ("set", "frozenset") or len(expr.args) > 1:
        return False
    given = expr.args[0] if expr.args else None
    return given is None or (type(given) is f.Sequence and not given.elements)


def _changes(body: f.Body, name: str) -> list[f.Call]:
    """Calls of methods that change what a name holds, and those that are given it and may."""
    found = []
    for node in walk(body):
        if type(node) is not f.Call:
            continue
        if type(node.func) is f.Attr and place_name(node.func.base) == name:
            if node.func.attr not in _READS:
                found.append(node)
        elif last_name(node.func) not in _LOOKS:
            given = (*node.args, *(value for _, value in node.keywords))
            if any(type(a) in (f.Name, f.Starred) and _root(a) == name for a in given):
                found.append(node)
    return found


def _root(expr: f.Expr) -> str:
    return place_name(expr.value if type(expr) is f.Starred else expr)


def _is_changed_in_place(body: f.Body, name: str) -> bool:
    return any(type(s) is f.AugAssign and place_name(s.target) == name for s in walk(body))


def _filtered(call: f.Call) -> f.Comprehension | None:
    """Of `matching.update([k for k in outputs.keys() if ...])` the comprehension, which walks a name now."""
    kept = call.args[0] if len(call.args) == 1 and not call.keywords else None
    if type(call.func) is not f.Attr or call.func.attr != "update" or type(kept) is not f.Comprehension:
        return None
    if len(kept.generators) != 1 or len(kept.elements) != 1 or not _same(kept.elements[0], kept.generators[0].target):
        return None
    walked = kept.generators[0].iterable
    if type(walked) is f.Call and type(walked.func) is f.Attr and walked.func.attr in VIEWS and not walked.args:
        walked = walked.func.base if walked.func.attr == "keys" else walked
    if type(walked) is not f.Name:
        return None
    return kept._replace(generators=(kept.generators[0]._replace(iterable=walked),))


def _same(one: f.Expr, other: f.Expr) -> bool:
    return type(one) is f.Name and type(other) is f.Name and one.id == other.id


def _keys(body: f.Body, name: str) -> list[f.Expr] | None:
    """The different keys of a dict that the function makes and fills itself; None if others may be in it."""
    found: dict[str, f.Expr] = {}
    made = [value for value, _ in assignments(body, name) if not _is_another_form(value, name)]
    if not made or _changes(body, name) or _is_changed_in_place(body, name):
        return None
    for value in made:
        keys = _written(value)
        if keys is None:
            return None
        found.update((render(key), key) for key in keys)
    for s in walk(body):
        targets = s.targets if type(s) is f.Assign else ()
        for target in targets:
            if type(target) is f.Subscript and place_name(target.base) == name:
                if not _is_fixed(target.index):
                    return None
                found[render(target.index)] = target.index
    return list(found.values())


def _is_another_form(expr: f.Expr, name: str) -> bool:
    """`outputs = outputs.to_dict()`, `outputs = dict(outputs)`: the same keys."""
    if type(expr) is not f.Call or expr.keywords:
        return False
    if type(expr.func) is f.Attr and not expr.args:
        return expr.func.attr in _FORMS and place_name(expr.func.base) == name
    return last_name(expr.func) in ("dict", "OrderedDict") and [place_name(a) for a in expr.args] == [name]


def _written(expr: f.Expr) -> list[f.Expr] | None:
    """The keys of a dict that is written out."""
    if type(expr) is f.DictDisplay:
        keys = [key for key in expr.keys if key is not None and _is_fixed(key)]
        return keys if len(keys) == len(expr.keys) else None
    if type(expr) is f.Call and last_name(expr.func) == "dict" and not expr.args:
        names = [name for name, _ in expr.keywords]
        return [f.Const(repr(name)) for name in names if name] if all(names) else None
    return None


def _is_fixed(key: f.Expr) -> bool:
    """Whether a key is a literal, or a member of a class of names (`OutputKeys.LOSS`)."""
    return type(key) is f.Const or (type(key) is f.Attr and key.attr.isupper())


def _may_match(body: f.Body, kept: f.Comprehension, key: f.Expr) -> bool:
    """Whether a filter may keep a key. One that is not written out may be anything."""
    for test in kept.generators[0].conditions:
        if type(test) is f.Compare and test.ops == ("in",) and _same(test.rights[0], kept.elements[0]):
            patterns = list(_patterns(body, test.left))
            if type(key) is f.Const and patterns and all(p not in key.text.strip("'\"") for p in patterns):
                return False
    return True


def _patterns(body: f.Body, expr: f.Expr) -> Iterator[str]:
    """The text that a filter looks for, or each one that a loop over a written list gives it; none if it is unknown."""
    if type(expr) is f.Const:
        yield expr.text.strip("'\"")
    loops = [s for s in walk(body) if type(s) is f.For and _same(s.target, expr)]
    lists: list[f.Expr] = []
    for loop in loops:
        named = [value for value, _ in assignments(body, place_name(loop.iterable))]
        lists += named or [loop.iterable]
    elements = [e for given in lists for e in (given.elements if type(given) is f.Sequence else (expr,))]
    if all(type(e) is f.Const for e in elements):
        yield from (render(e).strip("'\"") for e in elements)
