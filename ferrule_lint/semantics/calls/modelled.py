"""Applying a library model to a call: its event, what it makes uniform, what its result is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.models.types import Argument, CallModel
from ferrule_lint.semantics.calls import in_one_piece, made_with, one_device
from ferrule_lint.semantics.calls.agreement import deal, fill, make_uniform
from ferrule_lint.semantics.calls.results import makes_whole, result_of, wrapped
from ferrule_lint.semantics.calls.shapes import check_shapes
from ferrule_lint.semantics.control import who_is_there
from ferrule_lint.semantics.data import exchanged, loaders
from ferrule_lint.semantics.data.ordering import length_deps
from ferrule_lint.semantics.domain.conditions import Atom, Connective, Formula, Negation, divergence_of
from ferrule_lint.semantics.domain.dependences import HOLDS, NO_DEPS, Deps
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value, rounds_of
from ferrule_lint.semantics.domain.text import last_name, place_name, position, shown
from ferrule_lint.semantics.domain.trace import BY_NAME, Event, Loop
from ferrule_lint.semantics.gradients import gradient_order, partly_used, stage_values, surgery
from ferrule_lint.semantics.groups import group_members, group_use
from ferrule_lint.semantics.groups.of_call import group_axes
from ferrule_lint.semantics.project import strategies
from ferrule_lint.semantics.project.zero_stages import programs_go_without, programs_keep_whole

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame


def apply(
    frame: Frame, model: CallModel, arguments: Arguments, receiver: Value | None, confidence: Confidence
) -> Value:
    """The value of a modelled call; its event goes to the trace."""
    e = arguments.expr
    if model.only_if is not None and _switched_off(model, model.only_if, arguments):
        return wrapped(frame, model, arguments) if model.wraps else UNKNOWN
    if model.unless is not None and _switched_on(model.unless, arguments):
        as_it_was = arguments.expression(model.wrapped.name, model.wrapped.position) if model.wrapped else None
        return (arguments.value_of(as_it_was) if as_it_was is not None else None) or UNKNOWN
    axes, channel = group_axes(frame, model, arguments, receiver)
    local = model.if_sharded and frame.analysis.sharding.unknown is None
    if model.if_named and not any(frame.analysis.names.mentioning(name) for name in model.if_named):
        local = True
    if model.of_devices and type(e.func) is f.Attr and one_device.is_for_one(frame, e.func.base):
        local = True
    if model.wraps == "shards" and loaders.are_all(frame, arguments):
        local = True  # of a loader, `prepare` makes one that gives each rank its part
    if type(e.func) is f.Attr and e.func.attr in _OF_PARTS and in_one_piece.has_left_in_parts(frame, e.func.base):
        local = True
    receives = e.func.base if type(e.func) is f.Attr and model.guess_if_made_with else None
    by_itself = receives is not None and made_with.one_of(frame, receives, model.guess_if_made_with)
    if model.event is not None and not local:
        if model.creates_group:
            given = arguments.expression("ranks", 0)
            given = arguments.expression("mesh", 1) if given is None or type(given) is f.Const else given
            channel = group_members.literal_ranks(given) or channel
        if (by := model.paired_by) is not None:
            given = arguments.expression(by.name, by.position)
            channel = channel if given in (None, f.Const("None")) else BY_NAME
        if model.by_back_end and not _communicates(frame, model, arguments):
            confidence = Confidence.LOW
        if by_itself:
            confidence = Confidence.LOW
        if who_is_there.is_asked(frame, model.event):
            confidence = Confidence.LOW
        if model.event in _ONLY_IN_PARTS and programs_keep_whole(frame.analysis, frame.module.path):
            confidence = Confidence.LOW
        if model.event == "save_checkpoint" and model.library == "lightning" and _writes_alone(frame, model):
            confidence = Confidence.LOW
        if model.name.startswith(_OF_ENGINE) and programs_go_without(frame.analysis, frame.module.path):
            confidence = Confidence.LOW
        if model.event == "backward" and frame.analysis.sharding.is_beside_wraps(frame.module.path):
            confidence = Confidence.LOW
        if (placed := model.gathers_to) is not None:
            given = arguments.expression(placed.name, placed.position)
            confidence = confidence if given is not None and makes_whole(frame, given) else Confidence.LOW
        called = last_name(e.func) if model.creates_group and not model.hidden else ""
        does = f"issues {model.event}" if called in ("", model.event) else "makes process groups"
        event = Event(
            model.event, axes, channel, frame.module.path, e.pos, confidence, model.hidden,
            f"`{shown(e.func)}` {does}", model.p2p, called=called,
        )  # fmt: skip
        frame.emit(_repeated(frame, model, arguments, event))
        if model.loss is not None and frame.analysis.sharding.reduces_gradients:
            given = arguments.expression(model.loss.name, model.loss.position)
            loss = arguments.value_of(given) if given is not None else None
            if loss is not None:
                partly_used.at_backward(frame, loss, e.pos)
        if model.reduces_gradients:
            gradient_order.of_model(frame, e)
        else:
            gradient_order.of_collective(frame, e)
        frame.files.collective(frame.conditions)
        if model.p2p and arguments.positional and (layout := arguments.positional[0].layout) is not None:
            frame.layouts[e.pos] = layout
        check_shapes(frame, model, arguments, receiver, event)
        exchanged.of_collective(frame, model, arguments, event)
        if model.wraps:
            surgery.check(frame, arguments, event)
        for argument in model.makes_uniform:
            expr = arguments.expression(argument.name, argument.position)
            stage_values.reduced(frame, event, expr, arguments.value_of(expr) if expr is not None else None)
        for argument in model.deals:
            deal(frame, arguments.expression(argument.name, argument.position), arguments, event)
        group_members.check(frame, arguments, event)
        group_use.collective(frame, model, arguments, event)
    for argument in model.makes_uniform:
        make_uniform(frame, arguments.expression(argument.name, argument.position), axes)
    for argument in model.fills:
        fill(frame, arguments.expression(argument.name, argument.position))
    if model.instance is not None:
        _tell_class(frame, model, arguments.expression(model.instance.name, model.instance.position))
    return UNKNOWN if by_itself else result_of(frame, model, arguments, receiver, axes, confidence)


def _tell_class(frame: Frame, model: CallModel, expr: f.Expr | None) -> None:
    """From here on an argument is an object of the class whose method takes it, unless it is known to be of another."""
    place = place_name(expr) if expr is not None else ""
    known = frame.eval(expr) if place else UNKNOWN
    if place and known.external is None and known.target is None:
        frame.env[place] = known._replace(module=True, external=frame.models.canonical(model.name).rpartition(".")[0])


def _writes_alone(frame: Frame, model: CallModel) -> bool:
    """Whether a checkpoint of a trainer is written by the first rank alone, without the others."""
    return model.name.rpartition(".")[0] in ("", "lightning.pytorch.Trainer") and strategies.saves_alone(frame.analysis)


#: what is issued for a DTensor alone
_OF_PARTS = ("full_tensor", "redistribute")
#: what DeepSpeed issues where parameters are in parts, under stage 3 of ZeRO
_ONLY_IN_PARTS = frozenset(("gathered_parameters", "save_16bit_model"))
#: what puts together what DeepSpeed's engine has distributed, and hands back what is there where it has not
_OF_ENGINE = "deepspeed.utils.safe_get_full_"


def _communicates(frame: Frame, model: CallModel, arguments: Arguments) -> bool:
    """Whether a call that only some back ends make collective is one here, or some program shows that it may be."""
    without = model.always_without
    if without is not None and not arguments.is_open and arguments.expression(without.name, without.position) is None:
        return True
    asked = [*_asked_for(frame), *_ruled_out(frame)]
    deepspeed = any(map(_DEEPSPEED.search, asked))
    if any(map(_FSDP.search, asked)) and (deepspeed or not frame.module.mentions_like(_DEEPSPEED)):
        return frame.module.mentions_like(_MEGATRON) or _counts_checkpoints(frame)
    return frame.analysis.back_ends.may_shard(frame.module.path, deepspeed)


def _asked_for(frame: Frame) -> list[str]:
    """The tests by which a condition around lets in more than some ranks: under DeepSpeed all come to what stands
    under `if rank == 0 or distributed_type == DistributedType.DEEPSPEED:`, `if use_deepspeed or rank == 0:`, and under
    `if step % n == 0 and (rank == 0 or use_deepspeed):`. With a test of the rank around it, it lets in nobody."""
    required = [formula for condition in frame.conditions for formula in _required(condition)]
    if any(type(formula) is Atom and _is_of_rank(formula) for formula in required):
        return []
    return [
        term.key
        for formula in required
        if type(formula) is Connective and formula.op == "or" and divergence_of(formula) is not None
        for term in formula.operands
        if type(term) is Atom and term.divergence is None
    ]


def _is_of_rank(formula: Atom) -> bool:
    return formula.divergence is not None and formula.divergence.kind == "rank"


def _required(formula: Formula) -> Iterator[Formula]:
    """What has to hold for a condition to hold."""
    if type(formula) is Connective and formula.op == "and":
        for term in formula.operands:
            yield from _required(term)
    else:
        yield formula


def _ruled_out(frame: Frame) -> list[str]:
    """The settings that are off here: `if self.fsdp: ...`, `else: accelerator.save_state(path)`."""
    return [c.operand.key for c in frame.conditions if type(c) is Negation and type(c.operand) is Atom]


_DEEPSPEED, _FSDP = re.compile("deep_?speed", re.IGNORECASE), re.compile("fsdp|fully_?shard", re.IGNORECASE)
#: what is left of the back ends that communicate where both of these are asked for
_MEGATRON = re.compile("megatron", re.IGNORECASE)


def _counts_checkpoints(frame: Frame) -> bool:
    """`ProjectConfiguration(automatic_checkpoint_naming=True)`: all ranks wait, whatever the back end."""
    return any(
        name == "automatic_checkpoint_naming" and value != f.Const("False")
        for _, calls in frame.module.calls()
        for call in calls
        for name, value in call.keywords
    )


def _repeated(frame: Frame, model: CallModel, arguments: Arguments, event: Event) -> Event | Loop:
    """The event, or a loop of it where an argument tells how often it is issued, or what for."""
    rounds, each = model.rounds, model.for_each
    if rounds is not None and (expr := arguments.expression(rounds.name, rounds.position)) is not None:
        value = arguments.value_of(expr) or UNKNOWN
        return _loop(frame, event, expr, value.divergence, frozenset(d for d in value.deps if d[1] not in HOLDS))
    if each is not None and (expr := arguments.expression(each.name, each.position)) is not None:
        value = arguments.value_of(expr) or UNKNOWN
        # a tensor is reduced at once, however many items it has, and what a caller passes may be one
        is_dict = each not in model.same_shape
        entered = value.length is not None and value.length.own_entry
        trip = rounds_of(value) if is_dict or value.slots is not None or entered else None
        deps = length_deps(value) if is_dict else NO_DEPS
        return _loop(frame, event, expr, trip, deps) if trip is not None or deps else event
    return event


def _loop(frame: Frame, event: Event, expr: f.Expr, trip: Divergence | None, deps: Deps) -> Loop:
    pos = position(expr) or event.pos
    return Loop((event,), trip, None, deps, frame.module.path, pos, shown(expr), frame.key(expr))


def _switched_off(model: CallModel, switch: Argument, arguments: Arguments) -> bool:
    """Whether the argument that turns the event on is certainly absent or false. Of whatever receiver, it is what tells
    the method from others of its name: then it has to be written."""
    expr = arguments.expression(switch.name, switch.position)
    if expr is None:
        return not arguments.is_open or model.receiver == ""
    value = arguments.value_of(expr)
    return value is not None and value.const in ("None", "False")


def _switched_on(switch: Argument, arguments: Arguments) -> bool:
    """Whether an argument is certainly true."""
    expr = arguments.expression(switch.name, switch.position)
    value = arguments.value_of(expr) if expr is not None else None
    return value is not None and value.const == "True"
