"""What a call returns that a model speaks of."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence
from ferrule_lint.models.types import Argument, CallModel
from ferrule_lint.semantics.calls.agreement import cleanse
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.data.loaders import dealt_out
from ferrule_lint.semantics.data.ordering import length_deps
from ferrule_lint.semantics.data.selection import KEEPS, by_content
from ferrule_lint.semantics.domain.axes import DP, PRIVATE, UNKNOWN_GROUP, WORLD, Axes
from ferrule_lint.semantics.domain.dependences import FLOWS, ITEM, NO_DEPS, NOTHING, recast
from ferrule_lint.semantics.domain.joins import computed, join
from ferrule_lint.semantics.domain.lattice import UNIFORM, UNKNOWN, Value, rounds_of
from ferrule_lint.semantics.domain.targets import ExternalTarget
from ferrule_lint.semantics.domain.text import last_name, render, shown
from ferrule_lint.semantics.gradients import frozen
from ferrule_lint.semantics.groups import dimensions
from ferrule_lint.semantics.groups.group_members import is_of_one_rank
from ferrule_lint.semantics.groups.of_call import group_axes
from ferrule_lint.semantics.project import strategies
from ferrule_lint.semantics.project.threads import ASKS
from ferrule_lint.semantics.sources import draws, first_rank, own_generators
from ferrule_lint.semantics.sources.files import gives_a_sign
from ferrule_lint.semantics.walk.truth import observe

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame


def result_of(
    frame: Frame, model: CallModel, arguments: Arguments, receiver: Value | None, axes: Axes, confidence: Confidence
) -> Value:
    """The result of a modelled call, whose event spans `axes`."""
    e = arguments.expr
    if model.wraps:
        return wrapped(frame, model, arguments)
    if model.unordered:
        note = f"`{shown(e.func)}` has no order that ranks share"
        listed = Value(unordered=frame.source(WORLD, "host", e.pos, note, confidence))
        path = computed([*arguments.values, *([receiver] if receiver is not None else [])]).divergence
        if path is None or path.kind != "rank":
            return listed
        own = frame.step("flow", e.pos, f"`{shown(e.func)}` lists what lies where this rank alone looks")
        return listed._replace(length=path.then(own).at_most(Confidence.MEDIUM))
    if model.pads:
        return of_one_size(arguments.positional[0] if arguments.positional else UNKNOWN)
    sized = model.sized_by
    if model.ragged and sized is not None and arguments.expression(sized.name, sized.position) is not None:
        return _of_size_given(arguments, receiver, sized)
    if model.ragged:
        values = [*arguments.values, *([receiver] if receiver is not None else [])]
        counted = _told(arguments, model.counted_by)
        joined = computed([v for v in values if v is not counted] or values)  # the result holds none of the numbers
        if counted is not None and counted.data is None and counted.divergence is None:
            return joined._replace(shape_deps=joined.shape_deps | by_content(counted))
        counts = counted if counted is not None else joined
        source = counts.data or counts.divergence
        if source is not None and source.kind == "rank" and _looks_for(e):
            source = source._replace(member=True)
        note = f"`{shown(e.func)}` {KEEPS}"
        shape = source.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM) if source else None
        by = NO_DEPS if shape else by_content(counts)
        return joined._replace(shape=shape, divergence=None, data=joined.data or source, shape_deps=by)
    if model.observes and receiver is not None:
        seen = observe(frame, receiver, e.pos, shown(e))
        seen = seen._replace(uniform=receiver.uniform and seen.divergence is None, emptiness=None)
        if model.name.endswith("tolist"):
            return seen._replace(length=receiver.shape)
        return _of_the_same_size(seen, receiver) if model.name.endswith(".numpy") else seen
    if model.observes:
        return observe(frame, computed(arguments.values), e.pos, shown(e))
    if model.returns in ("true", "false"):
        return Value(uniform=True, const=model.returns.capitalize())
    if model.returns == "uniform":
        if model.event is None:
            name = model.name.rpartition(".")[2]
            return Value(uniform=True, world_size="world_size" in name or name in ("size", "num_processes"))
        return cleanse(join(arguments.values).plain() if arguments.values else UNIFORM, axes)._replace(types=NOTHING)
    if model.returns == "rank_and_size":
        rank = first_rank.named(_divergent(frame, model, arguments, receiver, confidence), "rank")
        return Value(items=(rank, Value(uniform=True, world_size=True)))
    if model.length_of is not None:
        return _as_long_as(frame, model.length_of, arguments, receiver)
    if model.uneven:
        source = _divergent(frame, model, arguments, receiver, confidence).divergence
        if arguments.positional and arguments.positional[0].multiple:
            return Value(data=source)  # what was cut to a multiple of the number of ranks is dealt out evenly
        return Value(length=source, data=source, emptiness=source.at_most(Confidence.LOW) if source else None)
    if model.returns == "divergent":
        return _divergent(frame, model, arguments, receiver, confidence)
    if model.returns == "data" and _is_all_of_it(frame, e):
        return UNKNOWN
    if model.returns == "data":
        data = frame.source(DP, "data", e.pos, f"`{shown(e.func)}` returns the rank's own data", Confidence.MEDIUM)
        return Value(data=data)
    if model.returns == "argument":
        values = [*arguments.positional[:1], *([receiver] if receiver is not None else [])]
        result = join(values).plain() if values else UNKNOWN
        return result._replace(external=model.makes) if model.makes else result
    if model.returns == "same":
        return arguments.positional[0] if arguments.positional else arguments.keywords.get("model", UNKNOWN)
    if model.creates_group:
        text = " ".join(render(v) for k, v in e.keywords if k in ("group_desc", "pg_options"))
        if is_of_one_rank(frame, model, arguments):
            return Value(group=PRIVATE, external=model.makes or None)
        return Value(group=frame.axes_in(text) or UNKNOWN_GROUP, external=model.makes or None)
    if model.makes and frame.models.call(model.makes) is not None:
        return Value(uniform=True, target=ExternalTarget(model.makes))
    named = group_axes(frame, model, arguments, receiver)[0] if model.group is not None else None
    if named is None or named in (WORLD, UNKNOWN_GROUP):
        named = frame.axes_in(render(e)) or frozenset(model.axes) or None
    return Value(group=named, external=model.makes or None)


def _is_all_of_it(frame: Frame, call: f.Call) -> bool:
    """`x.redistribute(placements=[Replicate()] * mesh.ndim).to_local()`: the local part is the whole on every rank."""
    base = call.func.base if type(call.func) is f.Attr else None
    if type(base) is not f.Call or last_name(base.func) != "redistribute":
        return False
    given = next((v for k, v in base.keywords if k == "placements"), base.args[-1] if base.args else None)
    return given is not None and makes_whole(frame, given)


def makes_whole(frame: Frame, placements: f.Expr) -> bool:
    """Whether what is in parts is asked for as a whole on every rank: `[Replicate()] * mesh.ndim`."""
    calls = [last_name(node.func) for node in walk(definition(frame, placements)) if type(node) is f.Call]
    return {name for name in calls if name[:1].isupper()} == {"Replicate"}


def _of_the_same_size(read: Value, tensor: Value) -> Value:
    """An array, of the size of the tensor that it was read out of."""
    return read._replace(
        shape=tensor.shape, uneven_last=tensor.uneven_last, padded=tensor.padded, shape_deps=tensor.shape_deps
    )


def _looks_for(call: f.Call) -> bool:
    """Whether a call asks where in a tensor something is, `(mesh == rank).nonzero()`: for a rank that is whether it is
    among those of a group."""
    asked = call.args[0] if call.args else call.func.base if type(call.func) is f.Attr else None
    return type(asked) is f.Compare and asked.ops == ("==",)


def of_one_size(value: Value) -> Value:
    """A tensor that is brought to the same size on all ranks, or a tuple of such."""
    deps = recast(value.deps, ITEM, FLOWS)
    items = tuple([of_one_size(v) for v in value.items]) if value.items is not None else None
    return value._replace(shape=None, padded=None, const=None, deps=deps, shape_deps=NO_DEPS, items=items)


def _of_size_given(arguments: Arguments, receiver: Value | None, sized: Argument) -> Value:
    """A tensor of the size that an argument says, or that it has: `bincount(x, minlength=n)`, `where(mask, x, y)`."""
    first = len(arguments.positional) if sized.position is None else sized.position
    counted = [*arguments.positional[:first], *([receiver] if receiver is not None else [])]
    others = [*arguments.positional[first:], *arguments.keywords.values()]
    if last_name(arguments.expr.func) == "where":
        return computed([*counted, *others])  # as large as what it chooses between, item by item
    return computed([*map(of_one_size, counted), *others])._replace(shape=None)


def _told(arguments: Arguments, argument: Argument | None) -> Value | None:
    """The value of an argument, if a call gives it."""
    expr = arguments.expression(argument.name, argument.position) if argument is not None else None
    return arguments.value_of(expr) if expr is not None else None


def _as_long_as(frame: Frame, argument: Argument, arguments: Arguments, receiver: Value | None) -> Value:
    """A part of something whose size an argument decides: by its value (a rank), or by how many items it has."""
    expr = arguments.expression(argument.name, argument.position)
    decides = (arguments.value_of(expr) if expr is not None else None) or UNKNOWN
    whole = receiver or (arguments.positional[0] if arguments.positional else UNKNOWN)
    share = None if whole.multiple else rounds_of(decides) or decides.divergence
    if share is not None:
        note = f"`{shown(arguments.expr)}` takes another share on every rank"
        share = share.then(frame.step("condition", arguments.expr.pos, note))
    # of an uneven whole a share by rank is uneven, too; as many parts as an argument says are as many
    of_whole = whole.length if argument.name in ("rank", "index") else None
    return Value(
        data=whole.data, length=share or of_whole, types=whole.types, element_types=whole.element_types,
        holds=whole.holds,
        length_deps=length_deps(decides), multiple=decides.multiple,
        emptiness=share.at_most(Confidence.LOW) if share is not None else None,
    )  # fmt: skip


#: files that ranks save together
_OF_CHECKPOINT = re.compile(r"checkpoint|ckpt|best_model", re.IGNORECASE)


def _divergent(
    frame: Frame, model: CallModel, arguments: Arguments, receiver: Value | None, confidence: Confidence
) -> Value:
    e = arguments.expr
    if model.group is not None or receiver is not None:
        axes, channel = group_axes(frame, model, arguments, receiver)
        if axes == WORLD and not model.axes:
            axes = frame.axes_in(render(e.func)) or WORLD
    else:
        axes, channel = frozenset(model.axes) or frame.axes_in(render(e.func)) or WORLD, ""
    if model.kind in ("data", "structure") and not model.axes:
        axes = DP
    what = {"rank": "differs by rank", "host": "differs between processes"}.get(model.kind, "differs between ranks")
    note = f"`{shown(e)}` {what}"
    library = model.name.partition(".")[0]
    if model.random and draws.seeded_alike(frame, e.pos):
        return UNKNOWN
    if model.random and (seeded := frame.analysis.seeding.axes(library, frame.self_class)):
        axes, confidence = seeded, Confidence.MEDIUM
        note = f"`{shown(e)}` is random, and `{library}` is seeded differently on each rank"
    if model.kind == "host" and confidence == Confidence.LOW:
        values = [*arguments.positional[:1], *([receiver] if receiver is not None else [])]
        own = next((v.divergence for v in values if v.divergence is not None and v.divergence.kind == "rank"), None)
        if own is not None and own.confidence > Confidence.LOW:
            # every rank looks for a file of its own; those of one checkpoint are all there, or none is
            sure = Confidence.LOW if _OF_CHECKPOINT.search(render(e)) else Confidence.MEDIUM
            return Value(divergence=own.then(frame.step("flow", e.pos, note)).at_most(sure))
        body = frame.module.body if frame.function is None else frame.function.body
        if gives_a_sign(e, lambda path: definition(frame, path), body):
            confidence, note = Confidence.MEDIUM, f"{note}: one looks before the file is made, another afterwards"
    asks = model.kind == "host" and type(e.func) is f.Attr and e.func.attr in ASKS and not frame.light
    if asks and type(e.func) is f.Attr and not frame.analysis.threads.feed(last_name(e.func.base)):
        confidence = Confidence.LOW
    divergence = frame.source(axes, model.kind or "rank", e.pos, note, confidence)
    if model.random and own_generators.draws_several(e):
        return Value(data=divergence)
    if model.kind == "rank" and axes == UNKNOWN_GROUP:
        divergence = divergence._replace(group=channel)
    name = model.name.rpartition(".")[2]
    function = frame.function
    around = (frame.module.body, ()) if function is None else (function.body, [p.name for p in function.parameters])
    frame.files.test(name, e, divergence, lambda path: definition(frame, path), frame.key, around)
    if name == "get_coordinate":
        return dimensions.coordinates(frame, e, Value(divergence=divergence))
    return first_rank.named(Value(divergence=divergence), name, channel)


#: what a launcher wraps a module in where nothing asks for another back end
_COPIES = "torch.nn.parallel.DistributedDataParallel"


def _launched(frame: Frame, model: CallModel, value: Value, expr: f.Expr | None) -> Value:
    """A module of the project that a launcher wraps, in a program that speaks of no back end which shards modules. What
    has no gradients it leaves alone."""
    of_project = bool(value.types) and all(map(frame.analysis.is_module, value.types))
    if not model.launched or not of_project or value.external is not None:
        return value
    if frozen.is_frozen_here(frame.analysis, frame.function, expr):
        return value
    back_ends = frame.analysis.back_ends
    shards = back_ends.are_spoken_of() and back_ends.may_shard(frame.module.path)
    return value if shards else value._replace(external=_COPIES)


def _set_up(frame: Frame, arguments: Arguments, module: Value) -> Value:
    """A module that is set up with a strategy which shards it, as its file says."""
    if module.external is not None or not strategies.sets_up_in_parts(frame.analysis, frame.module, arguments.expr):
        return module
    return module._replace(external=strategies.IN_PARTS, module=True, unwrapped=False)


def wrapped(frame: Frame, model: CallModel, arguments: Arguments) -> Value:
    """A wrapper returns its module, from now on with hidden events."""
    argument = model.wrapped or Argument("module", 0)
    expr = arguments.expression(argument.name, argument.position)
    value = arguments.value_of(expr) if expr is not None else None
    several = model.wraps == "shards" or model.by_strategy
    if len(arguments.positional) > 1 and several and argument.position == 0 and not arguments.keywords:
        pairs = zip_longest(arguments.expr.args[: len(arguments.positional)], arguments.positional)
        items = tuple([_launched(frame, model, dealt_out(v._replace(const=None)), e) for e, v in pairs])
        items = (_set_up(frame, arguments, items[0]), *items[1:])
        return Value(items=items, module=any(v.module for v in items))
    if value is None:
        return Value(module=True)
    wrapper = frame.models.canonical(model.name) if frame.models.class_(model.name) is not None else None
    wrapper = wrapper or value.external or model.makes or None
    module = value.module or bool(value.types) or wrapper is not None
    made = dealt_out(value._replace(const=None, target=None, module=module, unwrapped=False, external=wrapper))
    made = _set_up(frame, arguments, _launched(frame, model, made, expr))
    if wrapper is not None and wrapper == model.makes and type(expr) is f.Name and value.external is None:
        frame.env[expr.id] = made  # a function that shards what it is passed, and hands that back
        if not frame.conditions and frame.version(expr.id) == 0:
            frame.sharded[expr.id] = wrapper
    if not model.results:
        return made
    return made._replace(
        items=tuple([made if of == "module" else Value(loader=of == "loader") for of in model.results])
    )
