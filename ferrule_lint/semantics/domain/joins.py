"""Where two values meet: the least one that covers both, facet by facet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import compress
from operator import is_not
from typing import Any

from ferrule_lint.semantics.domain.axes import WORLD, Axes
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.lattice import UNIFORM, Value, worse
from ferrule_lint.semantics.domain.reach import reaching


def join(values: Iterable[Value]) -> Value:
    """The least value that covers all: uniform only if every one is."""
    result: Value | None = None
    for value in values:
        result = value if result is None else join2(result, value)
    return UNIFORM if result is None else result


def join2(a: Value, b: Value) -> Value:
    if a is b or a == b:
        return a
    fields = list(a)
    # most facets are the same default in both: only the others are looked at
    for place in compress(_ALL, map(is_not, a, b)):
        fields[place] = _JOINS[place](fields[place], b[place], a, b)
    return tuple.__new__(Value, fields)


_Join = Callable[[Any, Any, "Value", "Value"], Any]


def _both(x: Any, y: Any, a: Value, b: Value) -> Any:
    return x and y


def _either(x: Any, y: Any, a: Value, b: Value) -> Any:
    return x or y


def _worse(x: Any, y: Any, a: Value, b: Value) -> Any:
    return worse(x, y)


def _union(x: Any, y: Any, a: Value, b: Value) -> Any:
    return x | y if x and y else x or y


def _same_or_one(x: Any, y: Any, a: Value, b: Value) -> Any:
    return x if x == y else x or y


def _same_or(nothing: object) -> _Join:
    return lambda x, y, a, b: x if x == y else nothing


def _absent(x: Any, y: Any, a: Value, b: Value) -> Any:
    """What some ranks have is there on those that have it, whatever has put None there for all before."""
    return x if x == y or b.const == "None" else y if a.const == "None" else None


def _joined_items(x: Any, y: Any, a: Value, b: Value) -> Any:
    if x is None or y is None or len(x) != len(y):
        return None
    return tuple([join2(one, other) for one, other in zip(x, y, strict=True)])


def _of_any(x: Any, y: Any, a: Value, b: Value) -> Any:
    """What holds of whatever is there: None stands aside."""
    return (x or a.const == "None") and (y or b.const == "None") and (x or y)


def _one_rank(a: Value, b: Value) -> str:
    """What one of two values says of the rank: a flag that is false to begin with still asks for the first rank."""
    for one, other in ((a, b), (b, a)):
        if one.rank == other.rank or (one.rank.strip("!").startswith("first") and other.const in ("True", "False")):
            return one.rank
    return ""


def _joined_entries(
    a: tuple[tuple[str, Value], ...], b: tuple[tuple[str, Value], ...]
) -> tuple[tuple[str, Value], ...]:
    if not a or not b or a == b:
        return a or b
    joined = dict(a)
    for key, value in b:
        joined[key] = join2(joined[key], value) if key in joined else value
    return tuple(joined.items())


def _without_others(value: Value) -> bool:
    """Whether no local data lies in a dict but under keys that are known."""
    return value.data is None or value.is_keyed


def settled(a: Value, b: Value) -> Value | None:
    """Of two values that meet after a test which is not known to differ: if the ranks agreed on one of them and on
    the other they did not, then the test is the switch for agreeing (more than one process, a setting), and the
    other is a single process's. Along axes on which nobody agreed they still differ. None if they do not meet so.
    """
    for one, other in ((a, b), (b, a)):
        if not one.agreed or other.agreed or one.data:
            continue
        left = one.divergence
        if left is not None and not (other.divergence is not None and _spans_more(other.divergence.axes, left.axes)):
            continue
        if other.divergence or other.data or other.deps or other.length or other.presence:
            return join2(one, other)._replace(
                uniform=False, divergence=left, data=None, deps=one.deps, length=one.length, emptiness=one.emptiness,
                presence=one.presence, absent=one.absent,
            )  # fmt: skip
    return None


def _spans_more(axes: Axes, left: Axes) -> bool:
    """Whether ranks have agreed along some of the axes, and `left` are the others."""
    return left < axes or (axes >= WORLD and not left >= WORLD)


def _of_any_job(a: Value, b: Value) -> bool:
    """How many ranks there are, or 1: nothing has been launched then, and there is no job."""
    return (a.world_size or a.const == "1") and (b.world_size or b.const == "1") and (a.world_size or b.world_size)


def _one_group(a: Value, b: Value) -> Axes | None:
    """The group of one of two values: None stands aside, two that differ are no group that can be told."""
    if a.group == b.group or b.const == "None":
        return a.group
    return b.group if a.const == "None" else None


def _is_truth(boolean: bool, value: Value) -> bool:
    """Whether a value is true or false, as a written one is: `return False` beside `return loss > limit`."""
    return boolean or value.const in ("True", "False")


def _one_number(x: Any, y: Any) -> Any:
    """What is left of two element types, which are not the same: that ranks have different ones, where it is known."""
    return next((number for number in (x, y) if number is not None and number.apart is not None), None)


#: how two values are joined, facet by facet: given both facets, which are not the same object, and both values
_JOIN: dict[str, _Join] = {
    "uniform": _both,
    "divergence": _worse,
    "data": _worse,
    "presence": _worse,
    "length": _worse,
    "shape": _worse,
    "uneven_last": _either,
    "padded": _worse,
    "deps": _union,
    "types": _union,
    "element_types": _union,
    "holds": _same_or_one,
    "length_deps": _union,
    "module": _either,
    "loader": _either,
    "unordered": _worse,
    "const": _same_or(None),
    "target": _same_or_one,
    "items": _joined_items,
    "group": lambda x, y, a, b: _one_group(a, b),
    "world_size": lambda x, y, a, b: _of_any_job(a, b),
    "external": _same_or_one,
    "emptiness": _worse,
    "container": _either,
    "in_order": _both,
    "agreed": _either,
    "there": _both,
    "unwrapped": lambda x, y, a, b: _of_any(x, y, a, b),
    "filled": _either,
    "rank": lambda x, y, a, b: _one_rank(a, b),
    "fields": _same_or(()),
    "stage": _worse,
    "reach": lambda x, y, a, b: reaching(x, y),
    "boolean": lambda x, y, a, b: _is_truth(x, a) and _is_truth(y, b),
    "shape_deps": _union,
    "slots": _same_or(None),
    "entries": lambda x, y, a, b: _joined_entries(x, y),
    "keyed": lambda x, y, a, b: worse(x, y) if _without_others(a) and _without_others(b) else None,
    "given": _same_or(()),
    "multiple": _either,
    "layout": _same_or(None),
    "absent": _absent,
    "of_some": _union,
    "apart": _either,
    "presence_deps": _union,
    "counts": _same_or(()),
    "part": lambda x, y, a, b: (x or not a.deps) and (y or not b.deps),
    "number": lambda x, y, a, b: _one_number(x, y),
}
_JOINS = tuple(_JOIN[name] for name in Value._fields)
_ALL = range(len(_JOINS))


def computed(values: Iterable[Value]) -> Value:
    """The result of a pure computation on values."""
    operands = list(values)
    plain = join(operands).plain()
    if len(operands) > 1 and plain.emptiness is not None:
        plain = plain._replace(emptiness=None)
    if plain.slots is not None or plain.layout is not None:
        plain = plain._replace(slots=None, layout=None)
    if plain.presence_deps:
        plain = plain._replace(presence_deps=NOTHING)
    if (
        plain.types
        or plain.element_types
        or plain.holds
        or plain.presence
        or plain.loader
        or plain.module
        or plain.external
    ):
        plain = plain._replace(
            types=NOTHING,
            element_types=NOTHING,
            holds=None,
            presence=None,
            absent=None,
            loader=False,
            module=False,
            external=None,
            of_some=NOTHING,
        )
    return plain
