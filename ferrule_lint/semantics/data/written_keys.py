"""Methods that add up what their callers measure, and are handed nothing but dicts whose keys the code has written.

`meter.update(losses)`, `meter.update({"grad": norm})`: such keys are met in the order of the program, on every rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.text import called_name, last_name, place_name, variables
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: dicts of losses by their names: their keys are the terms that the code has written
LOSSES = re.compile(r"(^|_)loss(es)?(_dict)?s?$")


def are_met(analysis: Analysis, owner: ClassInfo | None, place: f.Subscript) -> bool:
    """Whether the key at a place, in a method of a class, is bound to those of a parameter for which all callers hand
    over such a dict."""
    methods = owner.methods.values() if owner is not None else ()
    function = next((method for method in methods if any(node is place for node in walk(method.body))), None)
    if function is None or owner is None:
        return False
    names = {parameter.name for parameter in function.parameters[1:]}
    given = {p for p in names if not variables(place.index).isdisjoint(keys_of(function, {p}))}
    found = list(_handed_over(analysis, function, owner.name, given))
    return bool(given) and bool(found) and all(_are_written(expr, body) for expr, body in found)


def keys_of(function: FunctionInfo, names: set[str]) -> frozenset[str]:
    """What a function binds to the keys of dicts of these names."""
    loops = [s for s in statements(function.body) if type(s) is f.For] if names else []
    walked_here = [s.target for s in loops if variables(s.iterable) & names]
    keys = [t.elements[0] if type(t) is f.Sequence and t.elements else t for t in walked_here]
    return frozenset(name for key in keys for name in variables(key))


def _handed_over(
    analysis: Analysis, function: FunctionInfo, owner: str, names: set[str]
) -> Iterator[tuple[f.Expr | None, f.Body]]:
    """What calls of a method on an instance made in the same function hand it, and where they do."""
    for module in analysis.names.mentioning(owner):
        for _, body in module.bodies():
            for call in walk(body):
                if type(call) is not f.Call or type(call.func) is not f.Attr or call.func.attr != function.name:
                    continue
                made = [called_name(value) for value, _ in assignments(body, place_name(call.func.base))]
                if owner in made:
                    yield from ((expr, body) for expr in _passed(call, function, names))


def _passed(call: f.Call, function: FunctionInfo, names: set[str]) -> Iterator[f.Expr | None]:
    """What a call of a method hands over for some of its parameters; None for one that it leaves out."""
    for i, parameter in enumerate(function.parameters[1:]):
        if parameter.name in names:
            by_place = call.args[i] if i < len(call.args) else None
            yield next((value for key, value in call.keywords if key == parameter.name), by_place)


def _are_written(expr: f.Expr | None, body: f.Body, deep: bool = True) -> bool:
    """Whether the keys of a dict are: it is a dict of losses by its name, or a display, or was one and got no other."""
    if type(expr) is f.DictDisplay:
        return all(type(key) is f.Const for key in expr.keys)
    if type(expr) is f.Call:
        return last_name(expr.func) == "dict" and not expr.args and bool(expr.keywords)
    if type(expr) not in (f.Name, f.Attr):
        return False
    if LOSSES.search(last_name(expr)) is not None:
        return True
    place = place_name(expr)
    made = [value for value, _ in assignments(body, place)] if deep else []
    return bool(made) and all(_are_written(value, body, deep=False) for value in made) and not _gets_others(body, place)


def _gets_others(body: f.Body, place: str) -> bool:
    """Whether something is put into a dict under a key that is worked out, or by a method of its own."""
    for node in walk(body):
        if type(node) is f.Subscript and type(node.index) is not f.Const and place_name(node.base) == place:
            return True
        if type(node) is not f.Call or type(node.func) is not f.Attr or place_name(node.func.base) != place:
            continue
        if node.func.attr in ("update", "setdefault"):
            return True
    return False
