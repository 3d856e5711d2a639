"""What is put into a batch in the place of an input that is missing.

A data set that makes a sample does so under the own name of the input, a collator under the names of all inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import plain
from ferrule_lint.facts.walk import nodes, statements, walk
from ferrule_lint.semantics.domain.text import is_key, last_name
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.sources.stand_ins import fills_each, handed_back, is_made_up, names_of

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis


def are_filled(analysis: Analysis, name: str) -> bool:
    """Whether some function of the project puts a made-up entry of this name, or of each, where there is none."""
    return (
        _is_filled_with_all(analysis, name)
        or _is_padded_with(analysis, name)
        or any(
            handed_back(function.body, one) or any(_fills(arm, name) for arm in _arms_without(function.body, name))
            for one in names_of(name)
            for module in analysis.names.mentioning(one)
            if not is_test(module.path)
            for function in module.functions.values()
        )
    )


def _is_filled_with_all(analysis: Analysis, name: str) -> bool:
    """Whether a collator of the project goes through the names of all inputs and fills each that no sample has."""
    return any(
        fills_each(function.body, name)
        for asks in ("all", "any")
        for module in analysis.names.mentioning(asks)
        if not is_test(module.path)
        for function in dict.fromkeys(function for function, _ in module.calls_named(asks))
        if function is not None
    )


def _is_padded_with(analysis: Analysis, name: str) -> bool:
    """Whether a function of the project makes up a whole sample that has an input, by its own name to pad with: each
    pack of samples gets one."""
    return any(
        _makes_sample(function.body, name)
        for makes in _MAKE_UP
        for module in analysis.names.mentioning(makes)
        if not is_test(module.path)
        for function in module.functions.values()
        if _PAD.search(function.name)
    )


def _makes_sample(body: f.Body, name: str) -> bool:
    """`{"input_ids": ids, "pixel_values": torch.zeros(...)}`"""
    return any(
        any(is_key(k, _TOKENS) for k in node.keys)
        and any(is_key(k, name) and is_made_up(v) for k, v in zip(node.keys, node.values, strict=True))
        for node in nodes(body, f.DictDisplay)
    )


_MAKE_UP = ("full", "ones", "rand", "randn", "zeros")
_PAD = re.compile(r"(^|_)pad(ding)?(_|$)")
_TOKENS = "input_ids"


def _arms_without(body: f.Body, name: str) -> Iterator[f.Body]:
    for node in statements(plain(body)):
        if type(node) is f.If:
            if _tells_absence(node.test, name):
                yield node.body
            elif _tells_presence(node.test, name):
                yield node.orelse


def _tells_absence(test: f.Expr, name: str) -> bool:
    if type(test) is f.BoolOp:
        return any(_tells_absence(v, name) for v in test.values)
    if type(test) is f.Not:
        return _tells_presence(test.operand, name)
    if type(test) is not f.Compare or len(test.ops) != 1:
        return False
    if test.ops == ("not in",):
        return is_key(test.left, name)
    return test.ops == ("is",) and test.rights == (f.Const("None"),) and _is_place(test.left, name)


def _tells_presence(test: f.Expr, name: str) -> bool:
    if type(test) is not f.Compare or len(test.ops) != 1:
        return _is_place(test, name)
    if test.ops == ("in",):
        return is_key(test.left, name)
    return test.ops == ("is not",) and test.rights == (f.Const("None"),) and _is_place(test.left, name)


def _is_place(expr: f.Expr, name: str) -> bool:
    """`images`, `sample["images"]`, `sample.get("images")`."""
    if type(expr) is f.Name:
        return expr.id == name
    if type(expr) is f.Subscript:
        return is_key(expr.index, name)
    return type(expr) is f.Call and last_name(expr.func) == "get" and bool(expr.args) and is_key(expr.args[0], name)


def _fills(arm: f.Body, name: str) -> bool:
    """Whether an arm writes a made-up entry of a name."""
    made = {
        last_name(t) for node in walk(arm) if type(node) is f.Assign and is_made_up(node.value) for t in node.targets
    }
    return any(is_made_up(w) or (type(w) is f.Name and w.id in made) for w in _written(arm, name))


def _written(arm: f.Body, name: str) -> Iterator[f.Expr | None]:
    for node in walk(arm):
        if type(node) is f.Assign:
            if any(type(t) is f.Subscript and is_key(t.index, name) for t in node.targets):
                yield node.value
        elif type(node) is f.DictDisplay:
            yield from (v for k, v in zip(node.keys, node.values, strict=True) if is_key(k, name))
        elif type(node) is f.Call and last_name(node.func) in ("dict", "update"):
            yield from (v for k, v in node.keywords if k == name)
