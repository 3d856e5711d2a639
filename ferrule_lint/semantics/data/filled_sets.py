"""Sets that begin empty: what they hold is told by what is put in, in the same function or by any method of the class.

`ranks = set()` and `ranks.add(r.rank)` make a set of numbers, which every process walks alike; `self.names = set()` and
`self.names.update(names)` in another method make one that has no order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.data.number_attributes import is_declared
from ferrule_lint.semantics.data.ordering import numbers
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

_FILLS = frozenset({"add", "update"})


def is_empty_set(value: f.Expr | None) -> bool:
    """`set()`"""
    return type(value) is f.Call and last_name(value.func) == "set" and not value.args and not value.keywords


def fills(body: f.Body, place: str) -> Iterator[f.Expr]:
    """What a body puts into a place: items, and what has items."""
    for node in walk(body):
        if type(node) is f.AugAssign and node.op == "BitOr" and place_name(node.target) == place:
            yield node.value
        elif type(node) is f.Call and _fills(node.func, place):
            yield from node.args


def _fills(func: f.Expr, place: str) -> bool:
    return type(func) is f.Attr and func.attr in _FILLS and place_name(func.base) == place


def is_filled_later(methods: Iterable[FunctionInfo], maker: FunctionInfo, name: str) -> bool:
    """Whether one of the methods of a class, but for the one that makes an attribute an empty set and what it calls
    itself, puts in what is no number."""
    called = {last_name(call.func) for call in maker.calls}
    others = [m for m in methods if m.parameters and m.id != maker.id and m.name not in called]
    return any(not numbers(item) for m in others for item in fills(m.body, f"{m.parameters[0].name}.{name}"))


def is_of_numbers(frame: Frame, place: str) -> bool:
    """Whether a function puts numbers into a set that it has made, and nothing else."""
    put = list(fills(frame.function.body, place)) if frame.function is not None else []
    return bool(put) and all(numbers(item, frame) or is_declared(frame, item) for item in put)
