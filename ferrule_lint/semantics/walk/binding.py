"""What a loop or an assignment binds its targets to."""

from __future__ import annotations

import re
from typing import Any

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import accumulators, batch_fields, loaders, met_keys, number_types, selection, single
from ferrule_lint.semantics.data.grouping import adds_to
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.data.ordering import dicts_walked, length_deps, numbers
from ferrule_lint.semantics.domain.assigned import is_bar
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.dependences import FLOWS, ITEM, NO_DEPS, Deps, recast
from ferrule_lint.semantics.domain.joins import join
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value, rounds_of, worse
from ferrule_lint.semantics.domain.reach import DETACHED
from ferrule_lint.semantics.domain.text import called_name, last_name, place_name, position, shown, turned_rows
from ferrule_lint.semantics.domain.trace import Loop
from ferrule_lint.semantics.gradients import participation
from ferrule_lint.semantics.groups import places
from ferrule_lint.semantics.sources import (
    admissions,
    batch_names,
    loss_names,
    policy_kl,
    rank_names,
    trained_losses,
)
from ferrule_lint.semantics.walk import kept_in_part, stored
from ferrule_lint.semantics.walk.frame import Frame


def loop_term(frame: Frame, iterable: Value, body: tuple[Any, ...], pos: f.Pos, expr: f.Expr) -> Loop:
    trip = rounds_of(iterable)
    if trip is None and iterable.divergence is not None:
        # that an object differs is no evidence about its length
        trip = iterable.divergence.at_most(Confidence.LOW)
    if trip is None:
        trip = met_keys.count(frame, iterable, expr)
    order = None if numbers(expr) else iterable.unordered or accumulators.order(frame, iterable, expr)
    if order is not None and single.at_most_one(frame, expr):
        order = None
    return Loop(
        body, trip, order, length_deps(iterable), frame.module.path, pos, shown(expr), frame.key(expr),
        dicts_walked(definition(frame, expr)),
    )  # fmt: skip


def of_items(deps: Deps) -> Deps:
    return recast(deps, ITEM, FLOWS)


def _plainly(expr: f.Expr) -> f.Expr:
    """What is walked, without what shows how far it is, the name that is given to it there (`bar := tqdm(items)`), and
    the list or iterator that `list(enumerate(items))` makes."""
    while True:
        if type(expr) is f.Walrus:
            expr = expr.value
            continue
        if type(expr) is not f.Call or not expr.args:
            return expr
        inner = expr.args[0]
        if not is_bar(expr):
            counted = type(inner) is f.Call and last_name(inner.func) in ("enumerate", "zip") and len(expr.args) == 1
            if not counted or last_name(expr.func) not in ("list", "tuple", "iter"):
                return expr
        expr = inner


def _ways(expr: f.Expr) -> list[f.Expr]:
    """What is walked on either way, where some ranks show how far they are (`tqdm(rounds) if is_main else rounds`)."""
    expr = _plainly(expr)
    return [*_ways(expr.body), *_ways(expr.orelse)] if type(expr) is f.IfExp else [expr]


def _counts(frame: Frame, expr: f.Expr, depth: int = 1) -> f.Expr:
    """What a name stands for that is only ever assigned one `enumerate(...)` or `zip(...)`, or several of the former,
    and that behind something which shows progress: the numbers in it are no part of what it counts."""
    found = _ways(expr)
    if (place := place_name(expr)) and frame.function is not None:
        made = [way for value in frame.analysis.bodies.given(frame.function.body, place) for way in _ways(value)]
        handed_on = [m for m in made if place_name(m) != place and not _hands_on(m, place)]
        found = [_counts(frame, m, depth - 1) if depth else m for m in handed_on]
    calls = [m for m in found if type(m) is f.Call]
    if not calls or len(calls) < len(found):
        return expr
    if all(last_name(c.func) == "enumerate" for c in calls) or (len(calls) == 1 and last_name(calls[0].func) == "zip"):
        return calls[0]
    return expr


def _hands_on(expr: f.Expr, place: str) -> bool:
    """`rounds = logger.watched(rounds)`: what stands in its own place hands on what it is given, as a rule."""
    if type(expr) is not f.Call or last_name(expr.func) in ("enumerate", "zip"):
        return False
    return any(place_name(a) == place for a in expr.args)


def is_numbered(frame: Frame, expr: f.Expr) -> bool:
    """Whether the first of what a loop binds is the number of the round: `enumerate(loader)`."""
    expr = _counts(frame, _plainly(expr))
    return type(expr) is f.Call and last_name(expr.func) == "enumerate"


def _is_counter(expr: f.Expr) -> bool:
    """`range(n)`, `cycle(range(n))`, `count()`: numbers, whatever they stand beside."""
    while type(expr) is f.Call and last_name(expr.func) in ("cycle", "repeat") and expr.args:
        expr = expr.args[0]
    return type(expr) is f.Call and last_name(expr.func) in ("range", "count")


#: pairs of a name and what it names
_NAMED = frozenset({"named_parameters", "named_modules", "named_children", "named_buffers"})
#: how a tensor is cut into pieces that are walked
_CUTS = frozenset({"unbind", "split", "chunk", "tolist", "tensor_split"})


def _is_cut(expr: f.Expr) -> bool:
    """`x.unbind(0)`, `torch.split(x, n)`: pieces of one tensor, made without anybody else."""
    if type(expr) is not f.Call or type(expr.func) is not f.Attr or expr.func.attr not in _CUTS:
        return False
    return bool(place_name(expr.func.base)) and all(place_name(a) or type(a) is f.Const for a in expr.args)


def _walks_named(frame: Frame, expr: f.Expr) -> bool:
    """`model.named_parameters()`, also by a name that it has been given."""
    made = definition(frame, expr)
    return type(made) is f.Call and type(made.func) is f.Attr and made.func.attr in _NAMED


def _is_mask(expr: f.Expr) -> bool:
    """`x > 0`: what holds of each item of a tensor."""
    return type(expr) is f.Compare and bool(place_name(expr.left)) and all(type(r) is f.Const for r in expr.rights)


def _is_row(expr: f.Expr) -> bool:
    """`[a, b]`: things that have names, in a row."""
    return type(expr) is f.Sequence and all(place_name(e) or type(e) is f.Const for e in expr.elements)


def element_of(frame: Frame, iterable: Value, expr: f.Expr) -> Value:
    """What iterating a value yields."""
    expr = _plainly(expr)
    if iterable.loader or iterable.data is not None:
        expr = _counts(frame, expr)
    if type(expr) is f.Call and expr.args and last_name(expr.func) == "enumerate":
        return Value(items=(UNKNOWN, element_of(frame, iterable._replace(counts=()), expr.args[0])))
    if type(expr) is f.Call and type(expr.func) is f.Attr and expr.func.attr in ("items", "values") and not expr.args:
        # the fields of a batch are no samples, which have lengths of their own
        field = element_of(frame, iterable, expr.func.base)._replace(length=None)
        field = _of_lists(frame, expr.func.base, field)
        return Value(items=(UNKNOWN, field)) if expr.func.attr == "items" else field
    if _walks_named(frame, expr):
        # a name is the same on all ranks, whatever each has of what it names, and no gradient flows to it
        name = UNKNOWN._replace(reach=DETACHED if frame.gradients else None)
        return Value(items=(name, _one_of(frame, iterable, expr)))
    if (
        type(expr) is f.Call
        and last_name(expr.func) == "zip"
        and len(expr.args) > 1
        and all(place_name(a) or _is_counter(a) or _is_cut(a) or _is_mask(a) or _is_row(a) for a in expr.args)
    ):
        return Value(
            items=tuple(
                [UNKNOWN if _is_counter(a) else _beside_others(element_of(frame, frame.eval(a), a)) for a in expr.args]
            )
        )
    return _one_of(frame, iterable, expr)


def held_class(frame: Frame, value: Value) -> str | None:
    """The library class of what a list or dict holds, if models know it as more than some module."""
    return frame.models.more_than_module(value.holds) if value.holds is not None else None


def _one_of(frame: Frame, iterable: Value, expr: f.Expr) -> Value:
    """An item of what is walked, none of whose parts is told apart."""
    if iterable.items:
        joined = join(iterable.items)
        if joined.const is not None and len(iterable.items) > 1:
            joined = joined._replace(const=None)
        return joined
    value = Value(
        uniform=iterable.uniform,
        divergence=None,
        data=iterable.data,
        deps=of_items(iterable.deps),
        types=iterable.element_types,
        external=held_class(frame, iterable),
        module=iterable.module,
        group=iterable.group or (frame.axes_in(last_name(expr)) if "group" in last_name(expr) else None),
        agreed=iterable.agreed,
        reach=iterable.reach,
        there=called_name(expr) in ("range", "tolist"),
        part=True,
        boolean=iterable.boolean,
    )
    is_loader = iterable.loader or loaders.is_loader(frame, expr)
    if is_loader and loaders.holds_several(frame, expr):
        value = value._replace(uniform=False, loader=True)
    elif is_loader:
        note = loaders.yields_own(shown(expr))
        value = value._replace(
            uniform=False, data=frame.source(DP, "data", position(expr), note, Confidence.MEDIUM), loader=False
        )
        if iterable.shape is not None:
            value = value._replace(shape=iterable.shape)
        if iterable.entries:
            from ferrule_lint.semantics.calls import collated  # which runs what is walked here

            value = collated.batch(frame, iterable, expr, value)
    elif value.data is not None and not value.data.sized and not _PARTS.search(last_name(expr)):
        # samples have lengths of their own
        value = value._replace(length=value.data.at_most(Confidence.MEDIUM))
    elif value.deps and not _PARTS.search(last_name(expr)):
        value = value._replace(length_deps=selection.by_content(value))
    if iterable.counts:
        return Value(items=tuple([UNKNOWN if own else value for own in iterable.counts]))
    if (rows := turned_rows(expr)) is not None:  # a column has an item of each row
        counted = frame.ask(rows)
        value = value._replace(length=counted.length, length_deps=counted.length_deps)
    return value


def _of_lists(frame: Frame, walked: f.Expr, field: Value) -> Value:
    """One of the lists in a dict that this function has filled entry by entry (`found["a"].append(x)`): any may be the
    one of which ranks have more, or in which tensors are uneven."""
    place = place_name(walked)
    lists = [v for p, v in frame.env.items() if place and p.startswith(f"{place}[") and p.endswith("]") and v.container]
    for held in lists:
        field = field._replace(
            length=worse(field.length, held.length), shape=worse(field.shape, held.shape),
            uneven_last=field.uneven_last or held.uneven_last, length_deps=field.length_deps | held.length_deps,
            shape_deps=field.shape_deps | held.shape_deps,
        )  # fmt: skip
    return field


def as_key(item: Value) -> Value:
    """A key of a dict, where a test asks for it: no data."""
    return Value(uniform=item.uniform, agreed=item.agreed, there=True)


def _beside_others(item: Value) -> Value:
    """An item of one of several things that are walked side by side: that it has a length of its own is left to what is
    known to be local, and not just called so."""
    return item if item.data is None or not item.data.assumed else item._replace(length=None)


#: parts of a batch that are made alike; of losses there is one for each output of a model
_PARTS = re.compile(r"batch|loss|chunk|shard|part|split|group|layer|block|row|dim|stage|range", re.IGNORECASE)


def bind(frame: Frame, target: f.Expr, value: Value, source: f.Expr | None = None) -> None:
    """Assign to a name, attribute, item or nested tuple of them; `source` is the text of what is assigned."""
    if type(target) is f.Sequence:
        for i, element in enumerate(target.elements):
            if value.items is not None and len(value.items) == len(target.elements):
                bind(frame, element, value.items[i], source)
            elif value.external == batch_fields.SIZE:
                index = str(i) if i + 1 < len(target.elements) or not i else "-1"
                tensor = source.base if type(source) is f.Attr and source.attr == "shape" else None
                pos, text = position(element), shown(element)
                bind(frame, element, batch_fields.dimension(frame, value, index, pos, text, tensor))
            else:
                types, external = value.types | value.element_types, value.external or held_class(frame, value)
                part = value._replace(
                    items=None, const=None, target=None, types=types, external=external, length=None, there=False,
                    layout=None, apart=None, number=None,
                )  # fmt: skip
                if value.reach is not None:
                    part = part._replace(reach=participation.part(value, str(i)))
                if type(element) is f.Sequence:  # `[row], [column] = where(grid == x)`: as many as there are names
                    part = part._replace(shape=None, shape_deps=NO_DEPS)
                if _is_how_many(frame, element, part):
                    part = part._replace(divergence=None, uniform=True, rank="")
                bind(frame, element, part, source)
        return
    if type(target) is f.Starred:
        bind(frame, target.value, value._replace(items=None, const=None))
        return
    if type(target) is f.Subscript:
        stored.store_item(frame, target, value, grouped=adds_to(target, source))
        return
    place = place_name(target)
    if place:
        if source is not None:
            value = places.of_target(frame, target, source, rank_names.of_target(frame, target, source, value))
            value = admissions.of_target(frame, target, source, value)
            value = policy_kl.of_target(frame, target, source, loss_names.of_target(frame, target, source, value))
            value = number_types.of_name(target, source, batch_names.of_target(frame, target, source, value))
        value = trained_losses.of_target(frame, target, value)
        frame.write(place, value, source is not None and value.const is None and _made_of(place, source))
        kept_in_part.assigned(frame, place, value)


def _is_how_many(frame: Frame, target: f.Expr, value: Value) -> bool:
    """`place, world_size = mesh.dp_coord`: the place differs, and how many there are is the same on all."""
    of_rank = value.divergence is not None and value.divergence.kind == "rank"
    return of_rank and frame.models.convention("uniform", last_name(target)) is not None


def _made_of(place: str, source: f.Expr) -> bool:
    """`self.x = self.x.to(...)`, `self.x = wrap(self.x)`: whether it is there stays as it was."""
    if type(source) is not f.Call or last_name(source.func) in _MAY_GIVE_NOTHING:
        return False
    receiver: f.Expr = source
    while type(receiver) is f.Call and type(receiver.func) is f.Attr:
        receiver = receiver.func.base
    return place in (place_name(receiver), *map(place_name, source.args))


#: methods that take something out of what they are called of, or hand nothing back
_MAY_GIVE_NOTHING = frozenset("get pop popitem popleft next getattr".split())
