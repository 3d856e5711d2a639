"""Applying a library model to a call: its event, what it makes uniform, what its result is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.models.types import Argument, CallModel
from ferrule_lint.semantics.data import buffers, loaders
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.data.ordering import length_deps
from ferrule_lint.semantics.data.selection import by_content
from ferrule_lint.semantics.domain.conditions import Atom, Connective, divergence_of
from ferrule_lint.semantics.domain.lattice import (
    CONTAINED,
    COPIES,
    DP,
    FLOWS,
    ITEM,
    NO_DEPS,
    NOTHING,
    OBSERVED,
    REPLICATE,
    UNIFORM,
    UNKNOWN,
    UNKNOWN_GROUP,
    WORLD,
    Axes,
    Divergence,
    Value,
    computed,
    join,
    recast,
    rounds_of,
)
from ferrule_lint.semantics.domain.summary import Latent
from ferrule_lint.semantics.domain.targets import ExternalTarget
from ferrule_lint.semantics.domain.text import last_name, place_name, position, render, shown
from ferrule_lint.semantics.domain.trace import Event, Loop
from ferrule_lint.semantics.gradients import gradient_order, stage_values, surgery
from ferrule_lint.semantics.groups import group_members, group_use
from ferrule_lint.semantics.project.threads import ASKS
from ferrule_lint.semantics.sources import first_rank
from ferrule_lint.semantics.walk.frame import CallIssue

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.dispatch import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

#: what WORLD spans
_ALL_AXES: Axes = frozenset({"dp", "tp", "pp", "cp", "ep"})


def apply(
    frame: Frame, model: CallModel, arguments: Arguments, receiver: Value | None, confidence: Confidence
) -> Value:
    """The value of a modelled call; its event goes to the trace."""
    e = arguments.expr
    if model.only_if is not None and _switched_off(model.only_if, arguments):
        return _wrapped(frame, model, arguments) if model.wraps else UNKNOWN
    if model.unless is not None and _switched_on(model.unless, arguments):
        return UNKNOWN
    axes, channel = group_axes(frame, model, arguments, receiver)
    local = model.if_sharded and frame.analysis.sharding.unknown is None
    if model.if_named and not any(frame.analysis.names.mentioning(name) for name in model.if_named):
        local = True
    if model.wraps == "shards" and loaders.are_all(frame, arguments):
        local = True  # of a loader, `prepare` makes one that gives each rank its part
    if model.event is not None and not local:
        if model.creates_group:
            given = arguments.expression("ranks", 0)
            given = arguments.expression("mesh", 1) if given is None or type(given) is f.Const else given
            channel = group_members.literal_ranks(given) or channel
        if model.by_back_end and not _communicates(frame, model, arguments):
            confidence = Confidence.LOW
        event = Event(
            model.event, axes, channel, frame.module.path, e.pos, confidence, model.hidden,
            f"`{render(e.func)}` issues {model.event}", model.p2p,
        )  # fmt: skip
        frame.emit(_repeated(frame, model, arguments, event))
        if model.reduces_gradients:
            gradient_order.of_model(frame, e)
        else:
            gradient_order.of_collective(frame, e)
        frame.files.collective(frame.conditions)
        _check_shapes(frame, model, arguments, receiver, event)
        if model.wraps:
            surgery.check(frame, arguments, event)
        for argument in model.makes_uniform:
            expr = arguments.expression(argument.name, argument.position)
            stage_values.reduced(frame, event, expr, _value_of(arguments, expr) if expr is not None else None)
        group_members.check(frame, arguments, event)
        group_use.collective(frame, model, arguments, event)
    for argument in model.makes_uniform:
        make_uniform(frame, arguments.expression(argument.name, argument.position), axes)
    return _result(frame, model, arguments, receiver, axes, confidence)


def _communicates(frame: Frame, model: CallModel, arguments: Arguments) -> bool:
    """Whether a call that only some back ends make collective is one here, or some program shows that it may be."""
    without = model.always_without
    if without is not None and not arguments.is_open and arguments.expression(without.name, without.position) is None:
        return True
    return frame.analysis.back_ends.may_shard(frame.module.path, _asks_for_deepspeed(frame))


def _asks_for_deepspeed(frame: Frame) -> bool:
    """`if rank == 0 or distributed_type == DistributedType.DEEPSPEED:` around: under DeepSpeed all ranks come here."""
    return any(
        type(formula) is Connective
        and formula.op == "or"
        and any(type(term) is Atom and term.key.endswith(".DEEPSPEED") for term in formula.operands)
        for formula in frame.conditions
    )


def _repeated(frame: Frame, model: CallModel, arguments: Arguments, event: Event) -> Event | Loop:
    """The event, or a loop of it where an argument tells how often it is issued."""
    expr = arguments.expression(model.rounds.name, model.rounds.position) if model.rounds is not None else None
    if expr is None:
        return event
    value = _value_of(arguments, expr) or UNKNOWN
    deps = frozenset(d for d in value.deps if d[1] != CONTAINED)
    pos = position(expr) or arguments.expr.pos
    return Loop((event,), value.divergence, None, deps, frame.module.path, pos, shown(expr), frame.key(expr))


def _switched_off(switch: Argument, arguments: Arguments) -> bool:
    """Whether the argument that turns the event on is certainly absent or false."""
    if arguments.is_open:
        return False
    expr = arguments.expression(switch.name, switch.position)
    if expr is None:
        return True
    value = _value_of(arguments, expr)
    return value is not None and value.const in ("None", "False")


def _switched_on(switch: Argument, arguments: Arguments) -> bool:
    """Whether an argument is certainly true."""
    expr = arguments.expression(switch.name, switch.position)
    value = _value_of(arguments, expr) if expr is not None else None
    return value is not None and value.const == "True"


def _value_of(arguments: Arguments, expr: f.Expr) -> Value | None:
    for i, a in enumerate(arguments.expr.args):
        if a is expr and i < len(arguments.positional):
            return arguments.positional[i]
    for name, k in arguments.expr.keywords:
        if k is expr:
            return arguments.keywords.get(name or "**")
    return None


def group_axes(frame: Frame, model: CallModel, arguments: Arguments, receiver: Value | None) -> tuple[Axes, str]:
    """The axes that a call's group spans, and a name for the group where its axes cannot be told."""
    default: Axes = frozenset(model.axes) or (UNKNOWN_GROUP if model.p2p == "both" else WORLD)
    if model.group is None:
        axes = _receiver_axes(frame, arguments, receiver, model)
        func = arguments.expr.func
        silent = axes is None and model.receiver and not model.axes
        if silent and type(func) is f.Attr and _IS_GROUP.search(last_name(func.base)):
            return UNKNOWN_GROUP, render(func.base)  # the receiver is the group, and says no more of itself
        return axes or default, ""
    expr = arguments.expression(model.group.name, model.group.position)
    if expr is None:
        axes = _receiver_axes(frame, arguments, receiver, model)
        if axes is not None:
            return axes, ""
        # `save(state, **options)`: the group may be among them
        return (UNKNOWN_GROUP, "") if arguments.is_open and default == WORLD else (default, "")
    value = _value_of(arguments, expr) or UNKNOWN
    if value.const == "None":
        return default, ""
    named = frame.axes_in(render(expr))
    axes = named if value.group is None or value.group == UNKNOWN_GROUP else value.group
    if axes is not None:
        return axes, ""
    if last_name(expr).endswith(("WORLD", "world")):
        return WORLD, ""
    return UNKNOWN_GROUP, render(expr)


def _receiver_axes(frame: Frame, arguments: Arguments, receiver: Value | None, model: CallModel) -> Axes | None:
    """Axes of the group object or mesh that a method is called on."""
    if receiver is None or model.axes:
        return None
    func = arguments.expr.func
    text = render(func.base) if type(func) is f.Attr else ""
    return receiver.group or frame.axes_in(text)


_IS_GROUP = re.compile(r"(group|pg|comm|communicator|coordinator|collectives?)$", re.IGNORECASE)


# ---------------------------------------------------------------------- shapes
_FROM_ONE = frozenset({"broadcast", "scatter"})
#: what these make of the first items of all ranks is the first item of the result
_ITEM_BY_ITEM = frozenset({"all_reduce", "reduce", "reduce_scatter", "reduce_scatter_tensor"})
_TOLERANT = frozenset({"all_gather_object", "gather_object", "broadcast_object_list"})


def told_by_rank(frame: Frame, divergence: Divergence, event: Event) -> bool:
    """Whether who comes here has been told by its rank, so that what it brings is compared with nobody's: what differs
    does so by rank, one of them sends, or one alone is here."""
    formula = frame.path_condition()
    here = divergence_of(formula) if formula is not None else None
    if here is None or here.kind != "rank":
        return False
    alone = type(formula) is Atom and " == " in formula.key
    return divergence.kind == "rank" or event.op in _FROM_ONE or alone


def _check_shapes(frame: Frame, model: CallModel, arguments: Arguments, receiver: Value | None, event: Event) -> None:
    if event.op in _TOLERANT or frame.of_one_size or _has_places(frame, model, arguments):
        return
    for argument in model.same_shape:
        expr = arguments.expression(argument.name, argument.position)
        value = _value_of(arguments, expr) if expr is not None else None
        if argument.name == "self":
            value = receiver
        if value is None:
            continue
        if value.layout is not None:
            frame.layouts[arguments.expr.pos] = value.layout
        if value.unordered is not None and event.op in _ITEM_BY_ITEM:
            what = render(expr) if expr is not None else argument.name
            message = f"`{event.op}` adds up the items of `{what}`, whose order ranks do not share"
            frame.issues.append(CallIssue("FER106", arguments.expr.pos, value.unordered, event, message))
        for part, code, divergence in _problems(value):
            if told_by_rank(frame, divergence, event):
                continue
            if divergence.assumed and event.op in _FROM_ONE:
                continue  # what one rank has is what all get
            if meets(part, divergence, event.axes):
                message = shape_message(code, event.op, divergence)
                frame.issues.append(CallIssue(code, arguments.expr.pos, divergence, event, message))
                break
        else:
            direct = frozenset(d for d in value.deps if d[1] == FLOWS) | value.shape_deps
            own = selected_by_content(frame, value, event, arguments.expr.pos)
            if own is not None:
                message = shape_message("FER201", event.op, own)
                frame.issues.append(CallIssue("FER201", arguments.expr.pos, own, event, message))
            elif direct:
                frame.latents.append(
                    Latent(
                        "FER201",
                        "shape",
                        direct,
                        frame.module.path,
                        arguments.expr.pos,
                        render(arguments.expr.func),
                        event,
                    )
                )


def _has_places(frame: Frame, model: CallModel, arguments: Arguments) -> bool:
    """Whether a list of tensors is gathered into that has a place of its size for each rank."""
    lists = [a for a in model.makes_uniform if a.name.endswith("_list")] if model.event == "all_gather" else []
    return any(buffers.sized_by_rank(frame, arguments.expression(a.name, a.position)) for a in lists)


_GATHERS = frozenset({"all_gather", "all_gather_into_tensor", "gather"})


def selected_by_content(frame: Frame, value: Value, event: Event, pos: f.Pos) -> Divergence | None:
    """Why a gathered tensor has another size on each rank where the content of a parameter decides how much is selected
    from that parameter itself (`unique(x)`, `x[x > 0]`): were it the same on all ranks, nobody would gather it."""
    if event.op not in _GATHERS or frame.light or not value.shape_deps:
        return None
    held = {name for name, how in value.deps if how != CONTAINED}
    name = next((n for n, how in sorted(value.shape_deps) if how == OBSERVED and n in held and n[0] != "."), None)
    if name is None:
        return None
    note = f"how much is selected from `{name}` depends on what it holds, and what is gathered differs between ranks"
    divergence = frame.source(DP, "data", pos, note, Confidence.MEDIUM)
    return divergence if meets(value, divergence, event.axes) else None


def _problems(value: Value) -> list[tuple[Value, str, Divergence]]:
    """What is wrong with a tensor's shape, or with those in a list or tuple that is written out."""
    parts = value.items if value.items and any(map(shape_problems, value.items)) else (value,)
    return [(part, code, divergence) for part in parts for code, divergence in shape_problems(part)]


def shape_problems(value: Value) -> list[tuple[str, Divergence]]:
    if value.padded is not None:
        return [("FER202", value.padded)]
    if value.shape is not None:
        return [("FER201", value.shape)]
    return []


def meets(value: Value, divergence: Divergence, axes: Axes) -> bool:
    """Whether ranks that hold different shapes meet in a group. Of a group that cannot be told it is assumed,
    unless a padded length is all there is: ranks that share a batch pad it alike."""
    if "?" in axes:
        return not value.uneven_last
    return "world" in axes or bool(divergence.axes & axes)


def shape_message(code: str, op: str, divergence: Divergence) -> str:
    if divergence.kind == "rank":
        return f"ranks bring tensors of another size or type to `{op}`, which needs the same on every rank"
    if code == "FER202":
        return f"this tensor is padded on some ranks only before `{op}`, which needs the same shape on every rank"
    return f"this tensor's size depends on the rank's own data, but `{op}` needs the same shape on every rank"


# ---------------------------------------------------------------------- results
def cleanse(value: Value, axes: Axes) -> Value:
    """A value after a reduction or broadcast over a group: uniform along its axes, and only those."""
    if "world" in axes:
        return Value(uniform=True, types=value.types, element_types=value.element_types, agreed=True)
    was_divergent = value.divergence is not None or value.data is not None
    if "?" in axes:
        return Value(types=value.types, element_types=value.element_types, agreed=True)

    if "dp" in axes:
        axes |= COPIES

    def rest(divergence: Divergence | None) -> Divergence | None:
        if divergence is None:
            return None
        before = _ALL_AXES if "world" in divergence.axes else divergence.axes
        if divergence.kind == "data" and "dp" in axes:
            return None
        left = before - axes
        return divergence._replace(axes=left) if left else None

    divergence, data, length = rest(value.divergence), rest(value.data), rest(value.length)
    left = divergence or data or length
    return Value(
        uniform=value.uniform or (was_divergent and left is None),
        divergence=divergence,
        data=data,
        length=length,
        types=value.types,
        element_types=value.element_types,
        agreed=True,
    )


def make_uniform(frame: Frame, expr: f.Expr | None, axes: Axes) -> None:
    """The tensor behind an argument holds the same value on every rank of the group afterwards."""
    if expr is None:
        return
    if type(expr) is f.Sequence:
        for element in expr.elements:
            make_uniform(frame, element, axes)
        return
    while type(expr) is f.Attr and expr.attr in ("data", "grad"):
        expr = expr.base
    if type(expr) is f.Subscript:
        place = place_name(expr.base)
        if place and type(expr.index) is f.Const:
            frame.env[f"{place}[{expr.index.text}]"] = cleanse(frame.eval(expr), axes)
        return
    if type(expr) is f.Call and type(expr.func) is f.Attr:
        expr = expr.func.base  # `x.contiguous()` shares storage with x where it can
        if frame.eval(expr).target is not None:
            return  # `torch.cat(...)` is nobody's method
    place = place_name(expr)
    if not place:
        return
    known = frame.read(place) or frame.eval(expr)
    frame.env[place] = cleanse(known, axes)._replace(reach=known.reach)
    frame.versions[place] = frame.versions.get(place, 0) + 1
    for part in [p for p in frame.env if p.startswith(place + "[")]:
        frame.env[part] = cleanse(frame.env[part], axes)  # what was put into it item by item went with it
    frame.made_uniform[place] = axes
    stage_values.shared(frame, place, axes)
    if frame.self_name and place.startswith(frame.self_name + ".") and place.count(".") == 1:
        frame.self_writes.pop(place.partition(".")[2], None)


def _result(
    frame: Frame, model: CallModel, arguments: Arguments, receiver: Value | None, axes: Axes, confidence: Confidence
) -> Value:
    from ferrule_lint.semantics.walk.predicates import observe

    e = arguments.expr
    if model.wraps:
        return _wrapped(frame, model, arguments)
    if model.unordered:
        note = f"`{render(e.func)}` has no order that ranks share"
        return Value(unordered=frame.source(WORLD, "host", e.pos, note, confidence))
    if model.pads:
        return _of_one_size(arguments.positional[0] if arguments.positional else UNKNOWN)
    sized = model.sized_by
    if model.ragged and sized is not None and arguments.expression(sized.name, sized.position) is not None:
        return computed([*arguments.values, *([receiver] if receiver is not None else [])])._replace(shape=None)
    if model.ragged:
        values = [*arguments.values, *([receiver] if receiver is not None else [])]
        joined = computed(values)
        source = joined.data or joined.divergence
        note = f"`{render(e.func)}` keeps a local number of items"
        shape = source.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM) if source else None
        by = NO_DEPS if shape else by_content(joined)
        return joined._replace(shape=shape, divergence=None, data=joined.data or source, shape_deps=by)
    if model.observes and receiver is not None:
        seen = observe(frame, receiver, e.pos, render(e))
        seen = seen._replace(uniform=receiver.uniform and seen.divergence is None, emptiness=None)
        return seen._replace(length=receiver.shape) if model.name.endswith("tolist") else seen
    if model.observes:
        return observe(frame, computed(arguments.values), e.pos, render(e))
    if model.returns == "true":
        return Value(uniform=True, const="True")
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
        return Value(length=source, data=source, emptiness=source.at_most(Confidence.LOW) if source else None)
    if model.returns == "divergent":
        return _divergent(frame, model, arguments, receiver, confidence)
    if model.returns == "data":
        data = frame.source(DP, "data", e.pos, f"`{render(e.func)}` returns the rank's own data", Confidence.MEDIUM)
        return Value(data=data)
    if model.returns == "argument":
        values = [*arguments.positional[:1], *([receiver] if receiver is not None else [])]
        result = join(values).plain() if values else UNKNOWN
        return result._replace(external=model.makes) if model.makes else result
    if model.creates_group:
        text = " ".join(render(v) for k, v in e.keywords if k in ("group_desc", "pg_options"))
        return Value(group=frame.axes_in(text) or UNKNOWN_GROUP, external=model.makes or None)
    if model.makes and frame.models.call(model.makes) is not None:
        return Value(uniform=True, target=ExternalTarget(model.makes))
    return Value(group=frame.axes_in(render(e)) or (frozenset(model.axes) or None), external=model.makes or None)


def _of_one_size(value: Value) -> Value:
    """A tensor that is brought to the same size on all ranks, or a tuple of such."""
    deps = recast(value.deps, ITEM, FLOWS)
    items = tuple([_of_one_size(v) for v in value.items]) if value.items is not None else None
    return value._replace(shape=None, padded=None, const=None, deps=deps, shape_deps=NO_DEPS, items=items)


def _as_long_as(frame: Frame, argument: Argument, arguments: Arguments, receiver: Value | None) -> Value:
    """A part of something whose size an argument decides: by its value (a rank), or by how many items it has."""
    expr = arguments.expression(argument.name, argument.position)
    decides = (_value_of(arguments, expr) if expr is not None else None) or UNKNOWN
    whole = receiver or (arguments.positional[0] if arguments.positional else UNKNOWN)
    share = None if whole.multiple else rounds_of(decides) or decides.divergence
    if share is not None:
        note = f"`{render(arguments.expr)}` takes another share on every rank"
        share = share.then(frame.step("condition", arguments.expr.pos, note))
    # of an uneven whole a share by rank is uneven, too; as many parts as an argument says are as many
    of_whole = whole.length if argument.name in ("rank", "index") else None
    return Value(
        data=whole.data, length=share or of_whole, types=whole.types, element_types=whole.element_types,
        length_deps=length_deps(decides), multiple=decides.multiple,
        emptiness=share.at_most(Confidence.LOW) if share is not None else None,
    )  # fmt: skip


#: `mesh["dp_replicate"].get_local_rank()`
_OF_COPIES = re.compile(r"replica(te)?(?!\w*shard)", re.IGNORECASE)


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
    if model.kind == "rank" and axes == DP and _OF_COPIES.search(render(e)):
        axes = REPLICATE
    what = {"rank": "differs by rank", "host": "differs between processes"}.get(model.kind, "differs between ranks")
    note = f"`{render(e)}` {what}"
    library = model.name.partition(".")[0]
    if model.random and (seeded := frame.analysis.seeding.axes(library, frame.self_class)):
        axes, confidence = seeded, Confidence.MEDIUM
        note = f"`{render(e)}` is random, and `{library}` is seeded differently on each rank"
    if model.kind == "host" and confidence == Confidence.LOW:
        values = [*arguments.positional[:1], *([receiver] if receiver is not None else [])]
        own = next((v.divergence for v in values if v.divergence is not None and v.divergence.kind == "rank"), None)
        if own is not None and own.confidence > Confidence.LOW:
            # every rank looks for a file of its own
            return Value(divergence=own.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM))
    asks = model.kind == "host" and type(e.func) is f.Attr and e.func.attr in ASKS and not frame.light
    if asks and type(e.func) is f.Attr and not frame.analysis.threads.feed(last_name(e.func.base)):
        confidence = Confidence.LOW
    divergence = frame.source(axes, model.kind or "rank", e.pos, note, confidence)
    if model.kind == "rank" and axes == UNKNOWN_GROUP:
        divergence = divergence._replace(group=channel)
    name = model.name.rpartition(".")[2]
    frame.files.test(name, e, divergence.why, lambda path: definition(frame, path), frame.key)
    return first_rank.named(Value(divergence=divergence), name, channel)


def _wrapped(frame: Frame, model: CallModel, arguments: Arguments) -> Value:
    """A wrapper returns its module, from now on with hidden events."""
    argument = model.wrapped or Argument("module", 0)
    expr = arguments.expression(argument.name, argument.position)
    value = _value_of(arguments, expr) if expr is not None else None
    if len(arguments.positional) > 1 and model.wraps == "shards" and argument.position == 0 and not arguments.keywords:
        items = tuple(v._replace(const=None) for v in arguments.positional)
        return Value(items=items, module=any(v.module for v in items))
    if value is None:
        return Value(module=True)
    made = "" if value.types else model.makes  # of a class of the project more is known than that it is wrapped
    wrapper = frame.models.canonical(model.name) if frame.models.class_(model.name) is not None else None
    wrapper = wrapper or value.external or made or None
    module = value.module or bool(value.types) or wrapper is not None
    return value._replace(const=None, target=None, module=module, unwrapped=False, external=wrapper)
