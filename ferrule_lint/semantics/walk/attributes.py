"""Attributes: what `a.b` holds."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import batch_fields, loaders, looked_up
from ferrule_lint.semantics.data.records import NAMESPACE
from ferrule_lint.semantics.domain.axes import WORLD, Axes
from ferrule_lint.semantics.domain.dependences import CONTAINED, EMPTY, FLOWS, ITEM, MADE, NO_DEPS, NOTHING, Deps, only
from ferrule_lint.semantics.domain.joins import join
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value, worse
from ferrule_lint.semantics.domain.targets import (
    IN_DDP,
    ClassTarget,
    ExternalTarget,
    FunctionTarget,
    MethodTarget,
    ModuleTarget,
    PartialTarget,
    SeveralTarget,
)
from ferrule_lint.semantics.domain.text import dotted_name, last_name, place_name, render, shown
from ferrule_lint.semantics.domain.trace import Event
from ferrule_lint.semantics.gradients import participation
from ferrule_lint.semantics.project.built_around import FACTORIES
from ferrule_lint.semantics.project.entities import ClassInfo, by_id
from ferrule_lint.semantics.sources import admissions, field_names, first_rank, own_device, rank_axes, rank_names
from ferrule_lint.semantics.walk import given

if TYPE_CHECKING:
    from ferrule_lint.models.types import AttributeModel
    from ferrule_lint.semantics.walk.frame import Frame

#: attributes that are the same on all ranks whatever they are taken of
_UNIFORM_ATTRIBUTES = frozenset(
    [
        "dtype",
        "device",
        "ndim",
        "is_cuda",
        "requires_grad",
        "training",
        "config",
        "layout",
        "placements",
        "device_mesh",
        "is_leaf",
        "is_meta",
        "__class__",
        "__name__",
        "type",
    ]
)
_ROWS = frozenset({"iloc", "loc"})
_MOST_CLASSES = 8
#: class methods of library modules that make an instance


def attribute(frame: Frame, e: f.Attr) -> Value:
    place = place_name(e)
    if place:
        known = frame.read(place)
        if known is not None:
            return known
    base = frame.eval(e.base)
    if base.external == IN_DDP:
        frame.in_ddp |= {place_name(e.base)}
    if e.attr in _ROWS and not base.types and base.target is None:
        return base  # of a table: the same rows, by their numbers
    target = base.target
    if target is not None:
        if type(target) is ModuleTarget:
            member = frame.analysis.names.member(target.info, e.attr)
            return _entity(frame, e, member)
        if type(target) is ClassTarget:
            return _of_class(frame, e, base, target.info)
        if type(target) is ExternalTarget:
            return _of_external(frame, e, target.dotted)
    if e.attr == "__class__" and len(base.types) == 1:
        return Value(uniform=True, target=ClassTarget(next(iter(base.types))))
    if base.entries or base.is_keyed:
        # the keys of a dict are texts in quotes: none of them is the name of an attribute
        if (field := base.entry(e.attr)) is not None and not field.is_flag:
            return field
        if base.is_keyed and (base.types or base.external == NAMESPACE):
            base = base._replace(data=None)  # the local data is in fields that are known
    value = _place_in_group(frame, e, _of_instance(frame, e, base)) if base.types else None
    if value is not None:
        value = looked_up.of_field(frame, e, base, value)
    value = _set_by_its_holder(frame, place, value if value is not None else _of_unknown(frame, e, base))
    if value.divergence is not None and rank_names.is_no_place(frame, e, value.divergence):
        value = value._replace(divergence=None)
    value = admissions.of_attribute(frame, e, value)
    value = field_names.of_field(frame, e, base, e.attr, batch_fields.optional_input(frame, e, base, value))
    if frame.given:
        value = given.of_field(frame, place, value)
    if frame.gradients and base.reach is None:
        return participation.of_own_parameter(frame, e, value)
    return value if base.reach is None else value._replace(reach=participation.part(base, e.attr))


def _set_by_its_holder(frame: Frame, place: str, value: Value) -> Value:
    """`self.state.found`, which another method of this class has set: on some ranks only, or to something local."""
    if frame.self_class is None or place.count(".") != 2 or not place.startswith(f"{frame.self_name}."):
        return value
    own = value.divergence
    if type(value.target) is FunctionTarget or (own is not None and own.confidence == Confidence.LOW):
        return value
    held = frame.analysis.holders.part(frame.self_class, place.partition(".")[2], frame.light)
    if held is None:
        return value
    if own is not None:  # its own class tells, unless the ranks have agreed on what this one has put there
        agreed = held.agreed and held.divergence is None
        return value._replace(divergence=own.at_most(Confidence.LOW)) if agreed else value
    if held.types and not value.types and (value.target is None or type(value.target) is MethodTarget):
        value = value._replace(types=held.types, target=None)  # `self.meters.loss = Meter()`
    if not (held.divergence or held.presence or held.length or held.shape):
        return value
    divergence = held.divergence.at_most(Confidence.MEDIUM) if held.divergence is not None else None
    presence = held.presence.at_most(Confidence.MEDIUM) if held.presence is not None else value.presence
    length, shape = worse(value.length, held.length), worse(value.shape, held.shape)
    return value._replace(
        uniform=False,
        const=None,
        divergence=divergence,
        presence=presence,
        length=length,
        shape=shape,
        uneven_last=value.uneven_last or held.uneven_last,
    )


#: what an object for a group says of this process' place in it
_PLACES = frozenset({"is_first_rank", "is_last_rank", "rank_in_group", "next_rank", "prev_rank"})


def _place_in_group(frame: Frame, e: f.Attr, value: Value | None) -> Value | None:
    """`self.pp_group.is_first_rank` of a class of the project, which compares the rank in the job: ranks that share
    their place in the group have one answer."""
    if value is None or value.divergence is None or value.divergence.kind != "rank" or e.attr not in _PLACES:
        return value
    axes = frame.axes_in(render(e.base))
    return value if axes is None else value._replace(divergence=value.divergence._replace(axes=axes))


def _entity(frame: Frame, e: f.Attr, entity: object) -> Value:
    from ferrule_lint.semantics.walk.expressions import entity_value

    if entity is None:
        return Value(target=MethodTarget(UNKNOWN, e.attr))
    return entity_value(frame, entity)  # type: ignore[arg-type]


def _of_class(frame: Frame, e: f.Attr, base: Value, info: ClassInfo) -> Value:
    method = frame.analysis.names.method(info, e.attr)
    if method is not None:
        receiver = Value(uniform=True, target=ClassTarget(info)) if method.is_class_method else None
        return Value(uniform=True, target=FunctionTarget(method, receiver))
    nested = info.module.classes.get(f"{info.qualname}.{e.attr}")
    if nested is not None:
        return Value(uniform=True, target=ClassTarget(nested))
    if e.attr == "apply" and any(b.endswith("autograd.Function") for b in frame.analysis.names.external_bases(info)):
        forward = frame.analysis.names.method(info, "forward")
        if forward is not None:
            return Value(target=PartialTarget(Value(target=FunctionTarget(forward)), (UNKNOWN,), ()))
    if e.attr in FACTORIES and frame.analysis.is_module(info):
        return Value(uniform=True, target=ClassTarget(info))
    value = frame.analysis.holders.class_attribute(info, e.attr)
    return value if value is not None else _by_name(frame, e) or UNKNOWN


def _of_external(frame: Frame, e: f.Attr, dotted: str) -> Value:
    full = f"{dotted}.{e.attr}"
    if e.attr == "WORLD":
        return Value(uniform=True, target=ExternalTarget(full), group=WORLD)
    model = frame.models.attribute(full)
    if model is not None:
        return _modelled(frame, e, model)
    constant = e.attr.isupper() or e.attr in ("distributed", "nn", "cuda")
    known = frame.models.knows_library(full)
    return Value(uniform=known, target=ExternalTarget(full), group=frame.axes_in(e.attr) if not constant else None)


def _of_instance(frame: Frame, e: f.Attr, base: Value) -> Value | None:
    """An attribute of an instance of one or more project classes."""
    names = frame.analysis.names
    found: list[Value] = []
    for info in by_id(base.types)[:_MOST_CLASSES]:
        method = names.method(info, e.attr)
        receiver = base
        if method is not None and (len(base.types) > 1 or base.items is not None or base.const is not None):
            receiver = base._replace(types=frozenset({info}), items=None, const=None)
        if method is not None and method.is_property:
            value = frame.analysis.call_function(frame, method, receiver, (), {}, e.pos, read=e)
            if not value.divergence:
                value = value if _is_agreed(value) else _by_name(frame, e) or value
                value = value._replace(world_size=value.world_size or rank_axes.is_size_of_job(e.attr))
            found.append(value)
        elif method is not None:
            found.append(Value(uniform=True, target=FunctionTarget(method, receiver)))
        else:
            held = frame.analysis.holders.attribute(info, e.attr, frame.light)
            if held is not None:
                found.append(held)
            elif (model := _base_attribute(frame, info, e.attr)) is not None:
                found.append(_modelled(frame, e, model))
            elif (kept := _class_kept(frame, info, e.attr)) is not None:
                found.append(kept)
    if not found:
        return None
    if len(found) == 1:
        value = found[0]
    elif all(type(v.target) is FunctionTarget for v in found):
        return Value(uniform=True, target=SeveralTarget(tuple(found)))
    else:
        value = join(found)
    if value.divergence is None and not value.types and value.target is None and not _is_agreed(value):
        named = _by_name(frame, e) or batch_fields.local_size(frame, e, base)
        if named is not None:
            return named
    if value.group is None and (axes := frame.axes_in(e.attr)) is not None:
        value = value._replace(group=axes)
    return value


def _is_agreed(value: Value) -> bool:
    """Whether ranks have brought it together, or a comment says that they have: then its name says nothing."""
    return value.uniform and value.agreed


def _class_kept(frame: Frame, info: ClassInfo, name: str) -> Value | None:
    """The class that an attribute of a class stands for: `worker_class = Worker`."""
    held = frame.analysis.holders.class_attribute(info, name)
    return held if held is not None and type(held.target) is ClassTarget else None


def _base_attribute(frame: Frame, info: ClassInfo, name: str) -> AttributeModel | None:
    """What a class has of a library's one that it derives from. What that keeps of the rank's data is as its methods
    find it: a metric's own compute() runs when the states are those of all."""
    for base in frame.analysis.names.external_bases(info):
        model = frame.models.attribute(f"{base}.{name}")
        if model is not None and model.kind != "data":
            return model
    return None


#: whether a service has answered at all, which is work that may fail and no news
_OF_FAILURE = frozenset("status_code ok reason raise_for_status headers".split())


def _of_unknown(frame: Frame, e: f.Attr, base: Value) -> Value:
    if base.external is not None:
        model = frame.models.attribute(f"{base.external}.{e.attr}")
        if model is not None:
            return _modelled(frame, e, model)
    model = frame.models.attribute_of(e.attr, last_name(e.base) or dotted_name(e.base).rpartition(".")[2])
    method = MethodTarget(base, e.attr)
    if model is not None:
        return _modelled(frame, e, model)._replace(target=method)
    named = _by_name(frame, e)
    if named is not None:
        return named._replace(target=method)
    if e.attr in _UNIFORM_ATTRIBUTES and (e.attr != "type" or base.data is None):  # `device.type`, not `sample.type`
        return Value(uniform=base.data is None or e.attr != "config", target=method)
    axes = frame.axes_in(e.attr) or base.group
    if base.divergence is not None and base.divergence.kind == "host" and base.data is None:
        if e.attr in _OF_FAILURE:
            return Value(target=method)
        return Value(divergence=base.divergence, target=method)
    uneven = base.emptiness is not None or base.shape is not None or bool(base.shape_deps)
    if base.data is not None or (uneven and e.attr == "shape"):
        return _of_data(frame, e, base, method)
    if e.attr == "shape" and base.deps and not base.uniform:  # the sizes of what a caller passes
        deps = only(base.deps, EMPTY, FLOWS, ITEM, EMPTY)
        return Value(target=method, deps=deps, group=axes, external=batch_fields.SIZE, there=True)
    return Value(
        uniform=e.attr == "shape" and base.agreed and base.uniform,
        target=method,
        deps=_of_field(e.attr, base.deps) if base.deps else NO_DEPS,
        part=True,
        module=base.module and not e.attr.startswith("_") and e.attr not in _NO_MODULES,
        unwrapped=base.unwrapped or (e.attr == "module" and _is_in_ddp(frame, base)),
        group=axes,
        loader=loaders.is_loader(frame, e),
        unordered=base.unordered if e.attr not in ("shape",) else None,
        types=NOTHING,
        world_size=rank_axes.is_size_of_job(e.attr),
        agreed=base.agreed and e.attr in _PARTS_OF_TENSORS,
    )


def _is_in_ddp(frame: Frame, base: Value) -> bool:
    """Whether a module is in DDP, which shards nothing: what is inside is in one piece."""
    role = frame.models.class_(base.external) if base.external else None
    return role is not None and role.role == "ddp"


#: what a reduction along a dimension returns, and other views of a tensor: what ranks agreed on, they still do
_PARTS_OF_TENSORS = frozenset({"values", "indices", "data", "T", "mT"})

#: what a model has beside modules: tensors, and what comes before it or tells how it is made
_NO_MODULES = frozenset("weight bias data tokenizer processor config generation_config".split())


@lru_cache(maxsize=8192)
def _of_field(name: str, deps: Deps) -> Deps:
    """What a field of something passed in depends on: of an object no more than that it is in there, of an item of what
    is walked (`for sample in samples: sample.text`) its content."""
    return frozenset([(p, how if how == MADE or (how == ITEM and name != "shape") else CONTAINED) for p, how in deps])


def _of_data(frame: Frame, e: f.Attr, base: Value, method: MethodTarget) -> Value:
    """An attribute of a batch or tensor, or of what may have no rows."""
    if e.attr == "shape":
        return Value(
            target=method,
            emptiness=base.emptiness or (base.data if base.data is not None and not base.data.sized else None),
            shape=base.shape,
            shape_deps=base.shape_deps,
            deps=only(base.deps, EMPTY, FLOWS, ITEM, EMPTY) if base.data is None else NO_DEPS,
            uneven_last=batch_fields.is_uneven_later(base),
            external=batch_fields.SIZE,
            there=True,
        )
    size = batch_fields.local_size(frame, e, base)
    if size is not None:
        return size._replace(target=method)
    value = Value(data=base.data, deps=base.deps, target=method)
    return batch_fields.field_of_batch(frame, value, e.attr, e.pos)


def _modelled(frame: Frame, e: f.Attr, model: AttributeModel) -> Value:
    """The value of an attribute that a model tells of; the event of a property that communicates goes to the trace."""
    confidence = Confidence.parse(model.confidence)
    if model.event is not None:
        note = f"`{shown(e)}` issues {model.event}"
        span = frozenset(model.axes) or WORLD
        frame.emit(Event(model.event, span, "", frame.module.path, e.pos, confidence, True, note))
    if model.returns == "uniform":
        return Value(uniform=True, world_size=rank_axes.is_world_size(e.attr))
    if model.returns != "divergent":
        return Value(external=model.makes) if model.makes else UNKNOWN
    axes: Axes = frozenset(model.axes) or frame.axes_in(render(e)) or WORLD
    note = f"`{shown(e)}` differs by rank" if model.kind == "rank" else f"`{shown(e)}` differs between ranks"
    return first_rank.named(Value(divergence=frame.source(axes, model.kind or "rank", e.pos, note, confidence)), e.attr)


def _by_name(frame: Frame, e: f.Attr) -> Value | None:
    """By the naming convention for ranks."""
    axes = frame.models.convention("rank", e.attr)
    if axes is None:
        return own_device.of_attribute(frame, e)
    if rank_names.is_of_matrix(e) or rank_names.is_of_tensor(e) or rank_names.is_a_size(frame, e):
        return None
    where = rank_axes.rank_axes(frame, frozenset(axes), e)
    divergence = frame.source(where, "rank", e.pos, f"`{shown(e)}` differs by rank", Confidence.MEDIUM)
    return first_rank.named(Value(divergence=divergence), e.attr)
