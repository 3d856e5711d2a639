"""Loops that take no round in a call, because of a number that its arguments fix: `sample(model)` does nothing in
`while n < count:` where `count=-1` is the default, nor in `for _ in range(count):`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.arithmetic import ORDERS
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.walk.frame import Frame

#: numbers that are no number of rounds
_NONE = re.compile(r"0|-\d+")
_NUMBER = re.compile(r"-?\d+")


def decides(function: FunctionInfo, name: str, const: str) -> bool:
    """Whether a parameter is passed a number by which a loop of the function may take no round."""
    return _NONE.fullmatch(const) is not None and name in _numbers(function)


def _numbers(function: FunctionInfo) -> Iterator[str]:
    """The names that a loop of a function compares before a round, or counts its rounds by."""
    for s in statements(function.body):
        bound = s.test if type(s) is f.While else _counted(s.iterable) if type(s) is f.For else None
        yield from (node.id for node in walk((bound,)) if type(node) is f.Name)


def of_while(frame: Frame, test: f.Expr) -> bool:
    """Whether a test of two numbers is false before the first round."""
    if type(test) is not f.Compare or len(test.ops) != 1 or test.ops[0] not in ORDERS:
        return False
    left, right = _number(frame, test.left), _number(frame, test.rights[0])
    return left is not None and right is not None and not ORDERS[test.ops[0]](left, right)


def of_for(frame: Frame, iterable: f.Expr) -> bool:
    """Whether a loop goes over a `range` of nothing."""
    counted = _counted(iterable)
    number = _number(frame, counted) if counted is not None else None
    return number is not None and number <= 0


def _counted(iterable: f.Expr) -> f.Expr | None:
    """`n` of `range(n)`."""
    plain = type(iterable) is f.Call and last_name(iterable.func) == "range" and not iterable.keywords
    return iterable.args[0] if plain and type(iterable) is f.Call and len(iterable.args) == 1 else None


def _number(frame: Frame, e: f.Expr) -> int | None:
    if type(e) is not f.Const and type(e) is not f.Name:
        return None
    value = frame.eval(e)
    if value.const is None or value.divergence is not None or value.deps or not _NUMBER.fullmatch(value.const):
        return None
    return int(value.const)
