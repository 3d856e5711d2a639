"""Attributes and items: what `a.b` and `a["b"]` hold."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.control import needed
from ferrule_lint.semantics.data import collators, grouping, loaders
from ferrule_lint.semantics.data.ordering import is_set, no_order, stored_order
from ferrule_lint.semantics.data.records import MOST_ENTRIES, NAMESPACE
from ferrule_lint.semantics.domain.conditions import lets_others_in
from ferrule_lint.semantics.domain.lattice import (
    CONTAINED,
    DP,
    FLOWS,
    ITEM,
    NO_DEPS,
    NOTHING,
    UNKNOWN,
    UNKNOWN_GROUP,
    WORLD,
    Axes,
    Deps,
    Divergence,
    Value,
    contained,
    join,
    join2,
    reaching,
    worse,
)
from ferrule_lint.semantics.domain.targets import (
    ClassTarget,
    ExternalTarget,
    FunctionTarget,
    MethodTarget,
    ModuleTarget,
    PartialTarget,
    SeveralTarget,
)
from ferrule_lint.semantics.domain.text import dotted_name, last_name, place_name, render
from ferrule_lint.semantics.domain.trace import Event
from ferrule_lint.semantics.gradients import participation
from ferrule_lint.semantics.project.entities import ClassInfo
from ferrule_lint.semantics.sources import absent_inputs, environment, field_names, first_rank, rank_names
from ferrule_lint.semantics.walk import aliases, given

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
        "is_leaf",
        "is_meta",
        "__class__",
        "__name__",
        "type",
    ]
)
#: a parameter of this name asks for what rank 0 has, and is passed by all ranks alike
_ZEROTH = re.compile(r"_?rank_?(0|zero)(_only)?", re.IGNORECASE)
_MOST_CLASSES = 8
#: class methods of library modules that make an instance
FACTORIES = ("from_pretrained", "from_config", "_from_config")
#: what `x.shape` is an instance of
SIZE = "torch.Size"


def attribute(frame: Frame, e: f.Attr) -> Value:
    place = place_name(e)
    if place:
        known = frame.read(place)
        if known is not None:
            return known
    base = frame.eval(e.base)
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
    if (
        base.entries
        and (base.types or base.external == NAMESPACE)
        and (field := base.entry(e.attr)) is not None
        and not field.is_flag
    ):
        return field
    value = _place_in_group(frame, e, _of_instance(frame, e, base)) if base.types else None
    value = _set_by_its_holder(frame, place, value if value is not None else _of_unknown(frame, e, base))
    value = field_names.of_field(frame, e, base, e.attr, _optional_input(frame, e, base, value))
    if frame.given:
        value = given.of_field(frame, place, value)
    if frame.gradients and base.reach is None:
        return participation.of_own_parameter(frame, e, value)
    return value if base.reach is None else value._replace(reach=participation.part(base, e.attr))


def _set_by_its_holder(frame: Frame, place: str, value: Value) -> Value:
    """`self.state.found`, which another method of this class has set: on some ranks only, or to something local."""
    if frame.self_class is None or place.count(".") != 2 or not place.startswith(f"{frame.self_name}."):
        return value
    if value.divergence is not None or type(value.target) is FunctionTarget:
        return value
    held = frame.analysis.holders.part(frame.self_class, place.partition(".")[2], frame.light)
    if held is None:
        return value
    divergence = held.divergence.at_most(Confidence.MEDIUM) if held.divergence is not None else None
    presence = held.presence.at_most(Confidence.MEDIUM) if held.presence is not None else value.presence
    return value._replace(uniform=False, const=None, divergence=divergence, presence=presence)


#: what an object for a group says of this process' place in it
_PLACES = frozenset({"is_first_rank", "is_last_rank", "rank_in_group", "next_rank", "prev_rank"})


def _place_in_group(frame: Frame, e: f.Attr, value: Value | None) -> Value | None:
    """`self.pp_group.is_first_rank` of a class of the project, which compares the rank in the job: ranks that share
    their place in the group have one answer."""
    if value is None or value.divergence is None or value.divergence.kind != "rank" or e.attr not in _PLACES:
        return value
    axes = frame.axes_in(render(e.base))
    return value if axes is None else value._replace(divergence=value.divergence._replace(axes=axes))


def _optional_input(frame: Frame, e: f.Attr, base: Value, value: Value) -> Value:
    """`context.pixel_values` where the parameter of a module's method carries the inputs of the batch."""
    if not frame.in_module or value.presence is not None or value.uniform or value.divergence is not None:
        return value
    if type(e.base) is not f.Name or e.base.id == frame.self_name or (e.base.id, FLOWS) not in base.deps:
        return value
    if frame.models.convention("optional", e.attr) is None or frame.models.convention("uniform", e.base.id) is not None:
        return value
    note = f"the optional input `{render(e)}` may be absent from the local batch"
    sure = absent_inputs.of_key(frame.analysis, e.attr)
    presence = frame.source(DP, "structure", e.pos, note, sure)._replace(assumed=True)
    data = value.data or frame.source(DP, "data", e.pos, f"`{render(e)}` holds the rank's own data", Confidence.MEDIUM)
    return value._replace(presence=presence, data=data._replace(assumed=True))


def optional_entry(frame: Frame, given: f.Expr, key: str, pos: f.Pos) -> Divergence | None:
    """Why `given[key]` may not be there: an input of a module, by its name, in a parameter that carries several."""
    function = frame.function
    if not frame.in_module or function is None or type(given) is not f.Name or given.id == frame.self_name:
        return None
    if frame.models.convention("optional", key) is None or frame.models.convention("uniform", given.id) is not None:
        return None
    if frame.version(given.id) or all(p.name != given.id for p in function.parameters):
        return None
    note = f"the optional input '{key}' may be absent from the local batch"
    return frame.source(DP, "structure", pos, note, absent_inputs.of_entry(frame.analysis, given.id, key))


def absent_from_sample(frame: Frame, sample: Value, text: str, pos: f.Pos) -> Divergence | None:
    """Why an entry or field of one item of a local batch may not be there: somebody asks whether it is."""
    length = sample.length
    if sample.data is None or length is None or sample.container or length.why != sample.data.why:
        return None
    note = f"`{text}` may be absent from a sample of the local batch"
    return sample.data.then(frame.step("flow", pos, note))._replace(kind="structure").at_most(Confidence.MEDIUM)


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
    for info in sorted(base.types, key=lambda c: c.id)[:_MOST_CLASSES]:
        method = names.method(info, e.attr)
        receiver = base
        if method is not None and (len(base.types) > 1 or base.items is not None or base.const is not None):
            receiver = base._replace(types=frozenset({info}), items=None, const=None)
        if method is not None and method.is_property:
            value = frame.analysis.call_function(frame, method, receiver, (), {}, e.pos)
            if not value.divergence:
                value = _by_name(frame, e) or value
            found.append(value)
        elif method is not None:
            found.append(Value(uniform=True, target=FunctionTarget(method, receiver)))
        else:
            held = frame.analysis.holders.attribute(info, e.attr, frame.light)
            if held is not None:
                found.append(held)
            elif (model := _base_attribute(frame, info, e.attr)) is not None:
                found.append(_modelled(frame, e, model))
    if not found:
        return None
    if len(found) == 1:
        value = found[0]
    elif all(type(v.target) is FunctionTarget for v in found):
        return Value(uniform=True, target=SeveralTarget(tuple(found)))
    else:
        value = join(found)
    if value.divergence is None and not value.types and value.target is None:
        named = _by_name(frame, e) or _local_size(frame, e, base)
        if named is not None:
            return named
    if value.group is None and (axes := frame.axes_in(e.attr)) is not None:
        value = value._replace(group=axes)
    return value


def _base_attribute(frame: Frame, info: ClassInfo, name: str) -> AttributeModel | None:
    for base in frame.analysis.names.external_bases(info):
        model = frame.models.attribute(f"{base}.{name}")
        if model is not None:
            return model
    return None


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
    if e.attr in _UNIFORM_ATTRIBUTES:
        return Value(uniform=base.data is None or e.attr != "config", target=method)
    axes = frame.axes_in(e.attr) or base.group
    if base.divergence is not None and base.divergence.kind == "host" and base.data is None:
        return Value(divergence=base.divergence, target=method)
    if base.data is not None:
        return _of_data(frame, e, base, method)
    return Value(
        uniform=False,
        target=method,
        deps=_of_field(e.attr, base.deps) if base.deps else NO_DEPS,
        module=base.module and not e.attr.startswith("_") and e.attr not in _NO_MODULES,
        unwrapped=base.unwrapped,
        group=axes,
        loader=is_loader(frame, e),
        unordered=base.unordered if e.attr not in ("shape",) else None,
        types=NOTHING,
    )


#: what a model has beside modules: tensors, and what comes before it or tells how it is made
_NO_MODULES = frozenset("weight bias data tokenizer processor config generation_config".split())


@lru_cache(maxsize=8192)
def _of_field(name: str, deps: Deps) -> Deps:
    """What a field of something passed in depends on: of an object no more than that it is in there, of an item of what
    is walked (`for sample in samples: sample.text`) its content."""
    return frozenset([(p, ITEM if how == ITEM and name != "shape" else CONTAINED) for p, how in deps])


def _of_data(frame: Frame, e: f.Attr, base: Value, method: MethodTarget) -> Value:
    """An attribute of a batch or tensor."""
    assert base.data is not None
    if e.attr == "shape":
        return Value(
            target=method,
            emptiness=base.data,
            shape=base.shape,
            uneven_last=base.uneven_last,
            external=SIZE,
            there=True,
        )
    size = _local_size(frame, e, base)
    if size is not None:
        return size._replace(target=method)
    value = Value(data=base.data, deps=base.deps, target=method)
    return field_of_batch(frame, value, e.attr, e.pos)


def dimension(frame: Frame, size: Value, index: str, pos: f.Pos | None, text: str) -> Value:
    """The number at `index` of a `torch.Size`: of an uneven tensor's sizes the first differs, or the last."""
    divergence = size.shape if (index == "0") is not size.uneven_last else None
    if divergence is not None:
        divergence = divergence.then(frame.step("flow", pos, f"`{text}` differs"))
    return Value(divergence=divergence, emptiness=emptiness_of(size.emptiness, index), deps=size.deps, there=True)


def emptiness_of(emptiness: Divergence | None, index: str) -> Divergence | None:
    """Why a dimension may be zero: the first, which counts items, more likely than one of the others."""
    if emptiness is None or index == "0":
        return emptiness
    return emptiness.at_most(Confidence.LOW)


def _local_size(frame: Frame, e: f.Attr, base: Value) -> Value | None:
    """An attribute of a batch that by its name is the number of what is really in it."""
    if base.data is None or frame.models.convention("local_size", e.attr) is None:
        return None
    note = f"`{render(e)}` is the size of the local batch"
    return Value(divergence=base.data.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM))


def field_of_batch(frame: Frame, value: Value, name: str, pos: f.Pos) -> Value:
    """A field of a local batch: optional, or padded to a length that the batch decides, by its name."""
    data = value.data
    if data is None:
        return value
    if frame.models.convention("optional", name) is not None:
        note = f"`{name}` may be absent from the local batch"
        presence = data.then(frame.step("flow", pos, note))._replace(kind="structure")
        value = value._replace(presence=presence.at_most(absent_inputs.of_key(frame.analysis, name)))
    if frame.models.convention("ragged", name) is not None and not collators.stacks(frame, name):
        note = f"`{name}` is padded to a length that the local batch decides"
        shape = data.then(frame.step("flow", pos, note)).at_most(Confidence.MEDIUM)
        value = value._replace(shape=shape, uneven_last=True)
    return value


def _modelled(frame: Frame, e: f.Attr, model: AttributeModel) -> Value:
    """The value of an attribute that a model tells of; the event of a property that communicates goes to the trace."""
    confidence = Confidence.parse(model.confidence)
    if model.event is not None:
        note = f"`{render(e)}` issues {model.event}"
        span = frozenset(model.axes) or WORLD
        frame.emit(Event(model.event, span, "", frame.module.path, e.pos, confidence, True, note))
    if model.returns == "uniform":
        return Value(uniform=True, world_size=is_world_size(e.attr))
    if model.returns != "divergent":
        return UNKNOWN
    axes: Axes = frozenset(model.axes) or frame.axes_in(render(e)) or WORLD
    note = f"`{render(e)}` differs by rank" if model.kind == "rank" else f"`{render(e)}` differs between ranks"
    return first_rank.named(Value(divergence=frame.source(axes, model.kind or "rank", e.pos, note, confidence)), e.attr)


def is_world_size(name: str) -> bool:
    return ("world_size" in name and "rank" not in name) or name in (
        "num_processes",
        "get_num_processes",
        "nprocs",
        "num_replicas",
    )


def _by_name(frame: Frame, e: f.Attr) -> Value | None:
    """By the naming convention for ranks."""
    axes = frame.models.convention("rank", e.attr)
    if axes is None or rank_names.is_of_matrix(e):
        return None
    where = rank_axes(frame, frozenset(axes), e)
    divergence = frame.source(where, "rank", e.pos, f"`{render(e)}` differs by rank", Confidence.MEDIUM)
    return first_rank.named(Value(divergence=divergence), e.attr)


def rank_axes(frame: Frame, named: Axes, e: f.Expr) -> Axes:
    """The axes of what the name of `e` says is a rank: in `pp_group.rank` or `rank_in(pp_group)` the group tells."""
    if named == WORLD:
        function = e.func if type(e) is f.Call else e
        near = [function.base] if type(function) is f.Attr else []
        for group in (*near, *(e.args[:1] if type(e) is f.Call else ())):
            if frame.models.convention("group", last_name(group)) is not None:
                return frame.axes_in(render(group)) or WORLD
        if type(e) is f.Call and (way := asked_of(e)) is not None:
            # a member of an enumeration has the bare name of its axis: `Mode.PIPELINE`
            return (
                frame.axes_in(render(way)) or frame.axes_in(f"{last_name(way).lower()}_parallel_group") or UNKNOWN_GROUP
            )
    return named or frame.axes_in(render(e)) or WORLD


#: names of arguments that tell in which group a rank is counted
_WAY = re.compile(r"(^|_)(mode|modes|axis|dim|mesh_dim)$|^ParallelMode$", re.IGNORECASE)


def asked_of(call: f.Call) -> f.Expr | None:
    """What a question for a rank names the group by, other than the group itself: `local_rank(Mode.COLUMN)`,
    `get_local_rank(mesh_dim=i)`."""
    for name, way in (*((None, a) for a in call.args[:1]), *call.keywords):
        of_enum = type(way) is f.Attr and _WAY.search(last_name(way.base)) is not None
        if of_enum or _WAY.search(name or "") or (type(way) is not f.Const and _WAY.search(last_name(way))):
            return way
    return None


def is_loader(frame: Frame, expr: f.Expr) -> bool:
    """Whether iterating this yields batches, by its name (also within `enumerate`, `tqdm`, ...)."""
    if type(expr) is f.Call:
        if last_name(expr.func) in ("enumerate", "tqdm", "iter", "islice", "zip", "cycle", "progress_bar"):
            return any(is_loader(frame, a) for a in expr.args[:2])
        return False
    return loaders.is_named(frame, expr)


def environment_value(frame: Frame, base: f.Expr, index: f.Expr, pos: f.Pos) -> Value | None:
    """`os.environ["RANK"]`, or with a name that this function was asked for; None if it is something else."""
    if dotted_name(base) not in ("os.environ", "environ"):
        return None
    const = index.text if type(index) is f.Const else frame.eval(index).const
    return None if const is None else environment.variable(frame, const, pos)


def _lets_others_in(frame: Frame) -> bool:
    """Whether the innermost divergent condition is met by ranks on either side of its tests, for the sake of what is at
    hand: `if rank == 0 or is_expert(p)`. What has a key of its own may well be what all come here for."""
    formula = frame.path_condition()
    return formula is not None and lets_others_in(formula)


def store_item(frame: Frame, target: f.Subscript, value: Value, grouped: bool = False) -> None:
    """`place[key] = value`; `grouped`: the entry is one that others are added to (`place[key] += value`)."""
    place = place_name(target.base)

    def by_name(base: f.Expr) -> None:
        _store(frame, target._replace(base=base), value, grouped)

    aliases.shared(frame, place, by_name, lambda: by_name(target.base))


def _store(frame: Frame, target: f.Subscript, value: Value, grouped: bool) -> None:
    place = place_name(target.base)
    frame.eval(target.index)
    base = frame.eval(target.base)
    if not place:
        return
    index = frame.eval(target.index)
    divergence = frame.path_divergence()
    length, counted = base.length, NO_DEPS
    slots = None
    passed = not frame.light and given.stands_for_passed(frame, place)
    more: Divergence | None = None
    if base.slots is not None and type(target.index) is f.Const:
        slots = base.slots | {target.index.text}  # where the arms meet one sees which of them have it
    if (base.container or passed) and divergence is not None and slots is None:
        note = f"`{place}` is filled on some ranks only"
        more = divergence.then(frame.step("flow", target.pos, note))
        if divergence.kind == "rank" and (type(target.index) is f.Const or _lets_others_in(frame)):
            more = more.at_most(Confidence.LOW)  # an entry of its own, which loops over the others pass over
    if (base.container or passed) and slots is None:
        more = worse(more, grouping.of_entry(frame, target, place, index, grouped))
        counted = grouping.deps_of_entry(frame, target, place)
    if base.container:
        length = worse(length, more)
    # what is put into places that are there does not change how much there is
    masked = index.data is not None or (type(target.index) is f.Op and target.index.kind == "Slice")
    # nor is what is uneven in one field of a record uneven in the others
    masked = masked or (type(target.index) is f.Const and target.index.text[:1] in "'\"")
    entries = base.entries
    if type(target.index) is f.Const and (entries or divergence is not None or value.tells):
        entry = value
        if divergence is not None:
            entry = value._replace(presence=worse(value.presence, divergence))
        entries = (*((k, v) for k, v in entries if k != target.index.text), (target.index.text, entry))
    merged = base._replace(
        entries=entries if len(entries) <= MOST_ENTRIES else (),
        unordered=base.unordered or stored_order(frame, target, place, base, index),
        in_order=False,
        uniform=base.uniform and value.uniform and index.uniform,
        data=worse(base.data, value.data),
        length=length,
        element_types=base.element_types | value.types,
        items=None,
        const=None,
        shape=base.shape if masked else worse(base.shape, value.shape),
        padded=base.padded if masked else worse(base.padded, value.padded),
        reach=reaching(base.reach, value.reach),
        slots=slots,
        shape_deps=base.shape_deps if masked else base.shape_deps | value.shape_deps,
        length_deps=base.length_deps | counted if base.container else base.length_deps,
    )
    frame.env[place] = merged
    if type(target.index) is f.Const:
        frame.env[f"{place}[{target.index.text}]"] = value
    frame.renew(place)
    if passed and type(target.index) is f.Const:
        frame.leave(f"{place}[{target.index.text}]", value)
    elif passed:
        order = merged.unordered if base.unordered is None else None
        added = value._replace(length=more, length_deps=counted, unordered=order, element_types=value.types, items=None)
        frame.leave(f"{place}{given.ITEMS}", contained(added)._replace(divergence=None, const=None, target=None))
    if frame.self_name and place.startswith(frame.self_name + "."):
        name = place.partition(".")[2]
        known = frame.self_writes.get(name)
        frame.self_writes[name] = merged if known is None else join2(known, merged)


#: methods of modules that get what a checkpoint holds
_RESTORE = frozenset({"set_extra_state", "load_state_dict", "_load_from_state_dict", "load_checkpoint"})


def _restores(frame: Frame) -> bool:
    return frame.function is not None and frame.function.name in _RESTORE


def parameter_value(frame: Frame, parameter: f.Parameter, function_line: int) -> Value:
    """What a parameter holds as far as its name, annotation and default tell."""
    name = parameter.name
    deps = frozenset({(name, "flows")})
    pos = (function_line, 1, function_line, 1)
    annotation = render(parameter.annotation) if parameter.annotation is not None else ""
    info = frame.analysis.annotations.class_of(parameter.annotation, frame.module)
    if info is not None:
        data = None
        if frame.models.convention("batch", name) is not None and not frame.analysis.is_module(info):
            data = frame.source(DP, "data", pos, f"`{name}` is the rank's own batch", Confidence.MEDIUM)
        return Value(deps=deps, types=frozenset({info}), data=data)
    external = frame.analysis.annotations.external_of(parameter.annotation, frame.module)
    role = frame.models.class_(external) if external else None
    if role is not None and role.role in ("module", "sharded", "ddp"):
        return Value(deps=deps, module=True, external=external)
    if role is not None and role.role == "group" and role.axes:
        return Value(deps=deps, external=external, group=frozenset(role.axes))
    scalar = _is_scalar(parameter, annotation)
    rank = frame.models.convention("rank", name)
    if (
        rank is not None
        and not _ZEROTH.fullmatch(name)
        and (scalar or not annotation)
        and parameter.kind in ("normal", "keyword")
    ):
        axes: Axes = frozenset(rank) or frame.axes_in(name) or WORLD
        divergence = frame.source(axes, "rank", pos, rank_names.of_parameter(name), Confidence.MEDIUM)
        return first_rank.named(Value(deps=deps, divergence=divergence), name)
    items = frame.analysis.annotations.elements_of(parameter.annotation, frame.module)
    value = Value(deps=deps, external=external, loader=bool(role and role.role == "loader"), element_types=items)
    if is_set(parameter.annotation):
        value = value._replace(unordered=no_order(frame, pos, f"parameter `{name}` is a set, which has no order"))
    if "group" in name or "mesh" in name:
        return value._replace(group=frame.axes_in(name))
    if scalar or parameter.kind in ("*", "**"):
        return value
    tensor = "Tensor" in annotation
    in_module = frame.in_module or (frame.function is not None and frame.function.name == "forward")
    batch = frame.models.convention("batch", name) is not None
    named = frame.models.convention("data", name) is not None
    matched = not annotation and _is_matched(frame, parameter)
    unmistakable = not annotation and frame.models.convention("tensor", name) is not None
    optional = frame.models.convention("optional", name) is not None
    # how far a generation is, say, and what a checkpoint holds
    shared = frame.models.convention("uniform", name) is not None or _restores(frame)
    if not shared and (
        batch
        or unmistakable
        or (named and (in_module or tensor))
        or (tensor and in_module)
        or (optional and in_module)
        or matched
        or (not annotation and _is_first_input(frame, parameter))
    ):
        note = f"`{name}` is the rank's own batch" if batch else f"`{name}` holds the rank's own data"
        # what comes from the batch has its names; any other tensor in a module may be a state that ranks share
        told = batch or optional or matched or frame.models.convention("content", name) is not None
        data = frame.source(DP, "data", pos, note, Confidence.MEDIUM)._replace(assumed=not batch, unnamed=not told)
        value = value._replace(data=data)
        function = frame.function
        if (
            optional
            and not (function is not None and needed.from_the_start(function.body, name))
            and not absent_inputs.is_required(frame, parameter)
        ):
            note = f"the optional input `{name}` may be absent from the local batch"
            sure = absent_inputs.of_parameter(frame, name)
            value = value._replace(presence=frame.source(DP, "structure", pos, note, sure))
    if frame.models.convention("loader", name) is not None:
        value = value._replace(loader=True)
    if frame.models.convention("module", name) is not None and "Module" in annotation:
        value = value._replace(module=True)
    return value


def _is_first_input(frame: Frame, parameter: f.Parameter) -> bool:
    """Whether a parameter is what a module's forward is about: the first, unless its name chooses what to do."""
    function = frame.function
    if not frame.in_module or function is None or function.name != "forward" or parameter.default is not None:
        return False
    first = function.parameters[1] if len(function.parameters) > 1 else None
    return first is parameter and parameter.kind == "normal" and not _CHOOSES.search(parameter.name)


def _is_matched(frame: Frame, parameter: f.Parameter) -> bool:
    """Whether a parameter of a loss beside the targets is which of them were matched (`indices`): local as they are."""
    function = frame.function
    if not frame.in_module or function is None or "loss" not in function.name or not _MATCHED.search(parameter.name):
        return False
    return any(p.name in ("targets", "labels") for p in function.parameters)


_MATCHED = re.compile(r"(^|_)(indices|inds|match\w*|assign\w*|positives?)$")
#: names of parameters that choose what a module does
_CHOOSES = re.compile(r"mode|method|func|fn|task|name|command|phase|stage|type|step|idx|index|args|ctx", re.IGNORECASE)


def _is_scalar(parameter: f.Parameter, annotation: str) -> bool:
    if annotation:
        return bool(re.search(r"\b(int|str|float|bool)\b", annotation)) and not re.search(
            r"Tensor|[Ll]ist|[Dd]ict|Sequence|Iterable", annotation
        )
    default = parameter.default
    return type(default) is f.Const and default.text != "None"
