"""`[a, b]`, `{a, b}`, `{k: v}`: containers as they are written."""

from __future__ import annotations

from collections.abc import Iterable

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data import lengths, put_together
from ferrule_lint.semantics.data.ordering import made_set
from ferrule_lint.semantics.data.records import MOST_ENTRIES
from ferrule_lint.semantics.domain.dependences import NO_DEPS, NOTHING
from ferrule_lint.semantics.domain.joins import join
from ferrule_lint.semantics.domain.lattice import Divergence, Value, contained
from ferrule_lint.semantics.domain.targets import (
    ClassTarget,
    ExternalTarget,
    FunctionTarget,
    PartialTarget,
    is_collective,
)
from ferrule_lint.semantics.domain.text import position
from ferrule_lint.semantics.gradients import participation
from ferrule_lint.semantics.sources.setting_names import is_name
from ferrule_lint.semantics.walk.frame import Frame

#: items of a tuple that are told apart, those of tuples in it included
_MOST_ITEMS = 64


def sequence(frame: Frame, e: f.Sequence) -> Value:
    values = [frame.eval(v) for v in e.elements]
    if not values:
        return Value(uniform=True, items=(), container=True, there=True, slots=NOTHING, in_order=True)
    joined = contained(join(values))
    items = tuple(values) if len(values) <= 12 and not any(type(v) is f.Starred for v in e.elements) else None
    if items is not None and not _few_items(values):
        items = None
    slots, longer = put_together.of_list(e, values)
    if longer is not None and lengths.is_filled(frame, e.elements, position(e)):  # `[*ids[:n], *[0] * (n - len(ids))]`
        longer = None
    return _holding(frame, values, joined)._replace(
        items=items,
        length=longer,
        group=joined.group,
        unordered=_spread(e, values),
        # a tuple is a record: what is uneven in one field is not in the others
        shape=joined.shape if e.kind == "list" else None,
        uneven_last=joined.shape is not None,
        padded=joined.padded if e.kind == "list" else None,
        container=e.kind == "list",
        slots=slots if len(values) <= 12 else None,
        shape_deps=joined.shape_deps if e.kind == "list" else NO_DEPS,
    )


def _holding(frame: Frame, values: list[Value], joined: Value) -> Value:
    """What a container has from what it holds, whatever its kind; `joined`: all of that as one value."""
    return Value(
        uniform=joined.uniform,
        divergence=joined.divergence,
        data=joined.data,
        deps=joined.deps,
        element_types=joined.types | joined.element_types,
        holds=joined.external or joined.holds,
        there=True,
        reach=participation.combined(values) if frame.gradients else None,
    )


def _spread(e: f.Sequence, values: list[Value]) -> Divergence | None:
    """The order of `[*a, b]` is that of `a`."""
    return next(
        (v.unordered for x, v in zip(e.elements, values, strict=True) if type(x) is f.Starred and v.unordered), None
    )


def _few_items(values: list[Value]) -> bool:
    """Whether tuples in tuples have few items in all: a display may double them, and whoever looks goes through all."""
    count = 0
    pending = values
    while pending and count <= _MOST_ITEMS:
        count += len(pending)
        pending = [item for value in pending for item in value.items or ()]
    return count <= _MOST_ITEMS


def set_display(frame: Frame, e: f.SetDisplay) -> Value:
    value = sequence(frame, f.Sequence("list", e.elements))
    if len(e.elements) > 1 or any(type(x) is f.Starred for x in e.elements):
        return made_set(frame, value, e, e.pos)
    return value


#: what a table may hold to be called or made
_CALLED = (FunctionTarget, ClassTarget, PartialTarget)


def is_table(values: Iterable[Value]) -> bool:
    """Whether all of a dict's values are called by who takes one, some of them of the project, or collectives."""
    targets = [v.target for v in values]
    kinds = set(map(type, targets))
    called = not kinds.isdisjoint(_CALLED) or any(map(is_collective, targets))
    return called and kinds <= {*_CALLED, ExternalTarget}


def dict_display(frame: Frame, e: f.DictDisplay) -> Value:
    values = [frame.eval(v) for v in e.values]
    for key in e.keys:
        if key is not None:
            frame.eval(key)
    if not values:
        return Value(uniform=True, container=True, there=True, slots=NOTHING)
    joined = contained(join(values)).plain()
    slots, longer = put_together.of_dict(e, values)
    entries: tuple[tuple[str, Value], ...] = ()
    named = all(type(k) is f.Const and is_name(k.text) for k in e.keys)
    if len(values) <= MOST_ENTRIES and (
        any(v.tells or v.is_flag or (named and v.data is not None) for v in values) or is_table(values)
    ):
        entries = tuple((k.text, v) for k, v in zip(e.keys, values, strict=True) if type(k) is f.Const)
    held = _holding(frame, values, joined)
    return held._replace(
        slots=slots,
        length=longer,
        entries=entries,
        keyed=held.data if named and entries else None,
    )
