"""Losses that a function trains on and lets decide something: `if total.isfinite(): scaler.scale(total).backward()`,
`loss.backward()` and then `if loss.item() > 1e4: break`.

A backward pass goes through what this rank has computed of its own batch, whoever computed it, and one batch in a
thousand gives no number, or a large one. So where nothing else is known of such a loss it is the rank's own. Names
alone are not asked for: the function itself says that it may be no number or compares it, and that there is a gradient
in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, position

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

_ASKS = frozenset({"isnan", "isinf", "isfinite"})
#: also a helper of the project by such a name
_TRAINS = re.compile(r"(?!register_)(\w+_)?backward(?!\w*hook)(_\w+)?")
#: methods and functions that read a number out of a tensor, or hand it on as it is
_HANDS_ON = frozenset("item detach cpu float double data mean sum abs max clone scale".split())
_OF_SIZES = frozenset({"<", "<=", ">", ">="})
#: what is called so may have been agreed on
_SHARED = re.compile(r"reduce|gather|sync|broadcast|all_", re.IGNORECASE)


def of_target(frame: Frame, target: f.Expr, value: Value) -> Value:
    """A variable that is bound to something of which nothing is known, or no more than a guess."""
    if type(target) is not f.Name or frame.light or frame.function is None:
        return value
    guessed = _is_guess(value)
    if not guessed and not _is_open(value):
        return value
    if target.id not in _names_in(frame):
        return value
    note = f"`{target.id}` has a backward pass, so it is the rank's own loss"
    own = frame.source(DP, "data", position(target), note, Confidence.MEDIUM)
    return value._replace(data=own, divergence=None) if guessed else value._replace(data=own)


def is_one(frame: Frame, parameter: str) -> bool:
    """Whether a parameter is such a loss."""
    return not _SHARED.search(parameter) and parameter in _names_in(frame)


def _names_in(frame: Frame) -> frozenset[str]:
    function = frame.function
    if function is None:
        return frozenset()
    return frame.analysis.trained_losses.find(function.id, lambda: _found_in(function), frozenset())


def _is_open(value: Value) -> bool:
    if value.uniform or value.agreed or value.types or value.container or value.module:
        return False
    known = (value.divergence, value.data, value.const, value.items, value.group, value.target, value.presence)
    return known.count(None) == len(known)


def _is_guess(value: Value) -> bool:
    """Whether a tensor is taken to differ by what its batch holds, and nobody is sure of that on the way it was
    followed: the backward pass says more."""
    if value.uniform or value.agreed or value.container or value.presence is not None or value.data is None:
        return False
    known = [d for d in (value.data, value.divergence) if d is not None]
    return all(d.kind == "data" and d.confidence == Confidence.LOW for d in known)


def _found_in(function: FunctionInfo) -> frozenset[str]:
    asked: set[str] = set()
    trained: set[str] = set()
    for call in function.calls:
        name = last_name(call.func)
        if name in _ASKS:
            asked |= set(_names(call.args[0] if call.args else _receiver(call)))
        elif _TRAINS.fullmatch(name):
            trained |= set(_names(call.args[0] if call.args else _receiver(call)))
    if trained:
        asked |= set(_compared(function))
    if not asked or not trained:
        return frozenset()
    sources: dict[str, list[f.Expr | None]] = {}
    for node in nodes(function.body, f.Assign):
        for target in node.targets:
            for n in walk(target):
                if type(n) is f.Name:
                    sources.setdefault(n.id, []).append(node.value)
    for name in list(asked):  # `value = loss.item()`
        asked |= {n for source in sources.get(name, ()) for n in _names(source)}
    for walked in nodes(function.body, f.Generator):  # `any(isnan(l) for l in (one, other))`
        if type(walked.target) is f.Name and walked.target.id in asked and type(walked.iterable) is f.Sequence:
            asked |= {n for element in walked.iterable.elements for n in _names(element)}
    own = {name for name in asked & trained if not any(map(_is_shared, sources.get(name, ())))}
    return frozenset(own)


def _compared(function: FunctionInfo) -> Iterator[str]:
    """The variables whose size decides something: `if loss.item() > 1e4: break`. Whether one is zero (`if total > 0`)
    asks if there is a loss at all, which settings decide."""
    tests = [s.test for s in nodes(function.body, f.If)] + [s.test for s in nodes(function.body, f.While)]
    for compared in nodes(tuple(tests), f.Compare):
        sides = (compared.left, *compared.rights)
        if set(compared.ops) <= _OF_SIZES and f.Const("0") not in sides:
            for side in sides:
                yield from _names(side)


def _receiver(call: f.Call) -> f.Expr | None:
    return call.func.base if type(call.func) is f.Attr else None


def _is_shared(source: f.Expr | None) -> bool:
    return any(_SHARED.search(last_name(call.func)) for call in nodes(source, f.Call))


def _names(expr: f.Expr | None) -> Iterator[str]:
    """The variables that hold what an expression hands on: `loss` of `scaler.scale(loss)`, `loss / n`."""
    if type(expr) is f.Name:
        yield expr.id
    elif type(expr) is f.Op and expr.kind in ("Div", "Mult", "Add", "USub"):
        # what a loss is divided by is a number of rounds or of tokens, and not a loss
        for operand in expr.operands[:1] if expr.kind == "Div" else expr.operands:
            yield from _names(operand)
    elif type(expr) is f.Attr and expr.attr in _HANDS_ON:
        yield from _names(expr.base)
    elif type(expr) is f.Call and last_name(expr.func) in _HANDS_ON:
        yield from _names(expr.args[0] if expr.args else _receiver(expr))
