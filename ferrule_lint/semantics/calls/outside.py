"""Calls of what the project does not define: of libraries, of methods whose receiver is not known, of anything else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import builtin_calls, collated, filtered, forwards, methods, modelled, receivers
from ferrule_lint.semantics.calls.arguments import Arguments
from ferrule_lint.semantics.calls.callbacks import run_callbacks
from ferrule_lint.semantics.calls.plain_methods import runs_no_module
from ferrule_lint.semantics.data import iteration, tensors
from ferrule_lint.semantics.domain.axes import UNKNOWN_GROUP, Axes
from ferrule_lint.semantics.domain.dependences import CONTAINED, FLOWS, ITEM, MADE, NO_DEPS, NOTHING, recast
from ferrule_lint.semantics.domain.lattice import UNIFORM, UNKNOWN, Value, worse
from ferrule_lint.semantics.domain.targets import MethodTarget
from ferrule_lint.semantics.domain.text import called_name, last_name, shown
from ferrule_lint.semantics.gradients import surgery
from ferrule_lint.semantics.groups import dimensions, roots, same_for_all, starting
from ferrule_lint.semantics.groups.axes import GIVES_GROUP
from ferrule_lint.semantics.project.built_around import FACTORIES, makes_module
from ferrule_lint.semantics.project.entities import FunctionInfo, by_id
from ferrule_lint.semantics.sources import draws, first_rank, own_generators, sharded_parameters
from ferrule_lint.semantics.sources.rank_axes import is_world_size, rank_axes
from ferrule_lint.semantics.walk import boxes, in_place, wrapped_under

if TYPE_CHECKING:
    from ferrule_lint.models.types import CallModel
    from ferrule_lint.semantics.walk.frame import Frame


# ---------------------------------------------------------------------- libraries
def of_library(frame: Frame, dotted: str, function: Value, arguments: Arguments) -> Value:
    """A call of something that an import leads out of the project to, by its full dotted name."""
    e = arguments.expr
    roots.check(frame, frame.models.canonical(dotted), arguments)
    same_for_all.check(frame, frame.models.canonical(dotted), arguments)
    starting.check(frame, frame.models.canonical(dotted), arguments)
    builtin = builtin_calls.call(frame, dotted, arguments)
    if builtin is not None:
        return builtin
    if dotted == "torch.numel" and arguments.positional:
        return methods.size(
            frame, MethodTarget(arguments.positional[0], "numel"), Arguments(e._replace(args=()), (), {})
        )
    if (generator := own_generators.made(dotted, arguments)) is not None:
        return generator
    if dotted.startswith("torch."):
        tensor = tensors.call(frame, dotted.rpartition(".")[2], arguments, None)
        if tensor is not None and not dotted.startswith("torch.distributed"):
            return draws.drawn(frame, dotted, arguments, tensor)
        if dotted == draws.ORDER:
            return draws.drawn(frame, dotted, arguments, unknown_call(frame, arguments, None, name="randperm"))
    if dotted.startswith("numpy.") and (array := tensors.of_numpy(frame, dotted[6:], arguments)) is not None:
        return array
    model = frame.models.call(dotted)
    loads = model is not None and model.makes and model.event is None and not model.wraps
    if model is not None and loads and makes_module(frame.analysis, dotted):
        return _loaded(frame, model.makes, arguments)
    if model is not None:
        if model.makes or model.tries_again:  # a thread, a process, a future; what is called until it gets through
            run_callbacks(frame, arguments, dotted.rpartition(".")[2])
        return modelled.apply(frame, model, arguments, None, Confidence.parse(model.confidence))
    role = frame.models.class_(dotted)
    if role is not None:
        data = next((v.data for v in arguments.values if v.data), None)
        length, shape, deps = None, None, NO_DEPS
        entries: tuple[tuple[str, Value], ...] = ()
        if role.role == "loader":
            length, shape, deps = iteration.of_loader(frame, arguments)
            entries = collated.carried(arguments)
        return Value(
            length=length,
            length_deps=deps,
            shape=shape,
            uneven_last=shape is not None,  # of the batches, not of the loader
            uniform=role.role not in ("loader",),
            external=frame.models.canonical(dotted),
            module=role.role in ("module", "sharded", "ddp", "leaf"),
            loader=role.role == "loader",
            unwrapped=role.role in ("module", "leaf") and not _is_around(arguments),
            entries=entries,
            group=frozenset(role.axes) or None,
            data=data if role.role not in ("module", "leaf", "sharded", "ddp", "loader", "group") else None,
            element_types=NOTHING.union(*(v.types | v.element_types for v in arguments.values)) or NOTHING,
            holds=next((v.holds for v in arguments.values if v.holds), None),
        )
    class_name, _, last = dotted.rpartition(".")
    for candidate in (dotted, class_name if last in FACTORIES else ""):
        if candidate and frame.analysis.is_module_class(candidate):
            return _loaded(frame, candidate, arguments)
    library = dotted.rpartition(".")[0]
    by_receiver = frame.models.method(dotted.rpartition(".")[2], library.rpartition(".")[2]) if library else None
    if by_receiver is not None and not frame.models.knows_library(dotted):
        return modelled.apply(frame, by_receiver, arguments, None, _by_convention(by_receiver))
    if not frame.models.knows_library(dotted) or "." not in dotted:
        named = rank_by_name(frame, e)
        if named is not None:
            return named
    initialized = frame.models.convention("initialized", dotted.rpartition(".")[2])
    if initialized is not None:
        return Value(uniform=True, const="True")
    result = unknown_call(frame, arguments, None, name=dotted.rpartition(".")[2], group=function.group)
    made = frame.models.known_class(dotted)
    return result if made is None else result._replace(external=made, there=True)


def _is_around(arguments: Arguments) -> bool:
    """Whether a module is made around another that may be sharded: `PeftModel.from_pretrained(model, path)`."""
    return any((v.module or v.types or v.element_types) and not v.unwrapped for v in arguments.values)


def _loaded(frame: Frame, made: str, arguments: Arguments) -> Value:
    """A library's model that is made here, of a class of that library."""
    shards = frame.module.mentions_any(_SHARDS_ON_LOADING)
    return Value(external=made, module=True, unwrapped=not _is_around(arguments) and not shards)


#: who speaks of these may load models in shards
_SHARDS_ON_LOADING = frozenset({"HfDeepSpeedConfig", "GatheredParameters", "tp_plan"})


def rank_by_name(frame: Frame, e: f.Call) -> Value | None:
    """`get_rank()`, `is_main_process()`: by the naming convention."""
    name = last_name(e.func)
    if not name:
        return None
    if is_world_size(name):
        return Value(uniform=True, world_size=True)
    axes = frame.models.convention("rank", name)
    if axes is None or (name == "rank" and len(e.args) > 1):  # `grid.rank(row, column)` is somebody's
        return None
    where = rank_axes(frame, frozenset(axes), e)
    note = f"`{shown(e.func)}()` differs by rank"
    # a place in a group that cannot be told: what its members do in groups of their own is their business
    somewhere = where == UNKNOWN_GROUP
    return first_rank.named(
        Value(divergence=frame.source(where, "rank", e.pos, note, Confidence.MEDIUM, member=somewhere)), name
    )


# ---------------------------------------------------------------------- methods of unknown receivers
def of_method(frame: Frame, target: MethodTarget, arguments: Arguments) -> Value:
    """A method of something whose class is not known: by what the receiver holds, else by the two names."""
    e = arguments.expr
    receiver = target.receiver
    receiver_expr = e.func.base if type(e.func) is f.Attr else None
    text = called_name(receiver_expr)
    if target.name in surgery.METHODS and not frame.light:
        surgery.of_method(frame, target.name, receiver, e)
    if target.name == "backward":
        forwards.backward(frame, receiver, arguments)
    if target.name[-1:] == "_" and (changed := in_place.called(frame, target.name, arguments, receiver)) is not None:
        return changed
    if (own := own_generators.of_method(frame, target.name, arguments, receiver)) is not None:
        return own
    if (parts := sharded_parameters.of_method(frame, target.name, receiver, e)) is not None:
        return parts
    if target.name in methods.SIZES:
        return methods.size(frame, target, arguments)
    known = receiver.data is not None or receiver.divergence is not None or receiver.shape is not None
    passed = any(how in (FLOWS, ITEM, MADE) for _, how in receiver.deps) and not receiver.types and not receiver.module
    if known or passed or target.name.startswith("new_"):  # only tensors have `new_zeros` and its like
        tensor = tensors.call(frame, target.name, arguments, receiver)
        if tensor is not None and not frame.models.method(target.name, text):
            return tensor
    model = model_of_method(frame, receiver, target.name)
    if model is not None:
        return modelled.apply(frame, model, arguments, receiver, Confidence.parse(model.confidence))
    if _is_untold(frame, receiver, target.name) and receiver.data is None and receiver.shape is None:
        model = frame.models.method(target.name, text)
        if model is not None and not (
            receivers.is_elsewhere(frame, model) or receivers.has_its_own(frame, model, text) or _is_of_dimension(e)
        ):
            return modelled.apply(frame, model, arguments, receiver, _by_convention(model))
    value = methods.method(frame, target, arguments) or filtered.by_method(frame, target.name, arguments, receiver)
    if value is not None:
        return value
    if target.name == "generate" and any(v.data is not None for v in arguments.values):
        return forwards.generated(frame, "generate", arguments)
    value = None if receiver.module and runs_no_module(frame, target) else forwards.by_name(frame, receiver, arguments)
    if value is not None:
        return value
    named = rank_by_name(frame, e)
    if named is not None:
        return named
    if frame.models.convention("initialized", target.name) is not None and receiver.data is None:
        return Value(uniform=True, const="True")
    value = receivers.call(frame, target, arguments, text)
    if value is not None:
        return value
    by_name = _by_name(frame, target)
    guessed = receiver._replace(types=NOTHING)
    for method in by_name:
        with frame.recording() as terms:
            value = frame.analysis.call_function(
                frame, method, guessed, arguments.positional, arguments.keywords, e.pos, call=e,
                confidence=Confidence.LOW,
            )  # fmt: skip
        if len(by_name) == 1:
            frame.terms.extend(terms)
            return value
    if target.name == "generate" and any(v.deps for v in arguments.values):
        return forwards.generated(frame, "generate", arguments)
    return unknown_call(frame, arguments, receiver, name=target.name)


def _is_untold(frame: Frame, receiver: Value, name: str) -> bool:
    """Whether the class of an object does not say what a method is: it is not known, or one that something wraps, and
    that has no such method. Under another setting it may be in an engine, which has (`self.model.save_checkpoint`)."""
    if receiver.types and not forwards.is_wrapped(frame.analysis, receiver):
        return False
    return all(frame.analysis.names.method(info, name) is None for info in receiver.types)


_ALONG_A_DIMENSION = ("gather", "scatter")


def _is_of_dimension(call: f.Call) -> bool:
    """`values.gather(-1, index)`, `rows.scatter(dim=0, index=places, src=new)`: what a tensor does along a dimension,
    whatever it is called."""
    if type(call.func) is not f.Attr or call.func.attr not in _ALONG_A_DIMENSION:
        return False
    first = call.args[0] if len(call.args) > 1 else None
    by_place = type(first) is f.Const and first.text.lstrip("-").isdigit()
    return by_place or {"dim", "index"}.issubset(name for name, _ in call.keywords)


def _by_convention(model: CallModel) -> Confidence:
    """How sure a model is whose method was recognised by the receiver's name."""
    return min(Confidence.MEDIUM, Confidence.parse(model.confidence))


def model_of_method(frame: Frame, receiver: Value, name: str) -> CallModel | None:
    """The model of a method, where what is known of the receiver says of which class it is."""
    candidates: list[str] = []
    if receiver.external is not None and not wrapped_under.is_ruled_out(frame, receiver):
        candidates.append(receiver.external)
    for info in by_id(receiver.types):
        candidates += frame.analysis.names.external_bases(info)
    if receiver.module:
        candidates.append("torch.nn.Module")
    for candidate in candidates:
        model = frame.models.call(f"{candidate}.{name}")
        if model is not None:
            return model
    if receiver.data is not None or receiver.divergence is not None or receiver.shape is not None:
        return frame.models.call(f"torch.Tensor.{name}")
    return None


def _by_name(frame: Frame, target: MethodTarget) -> Sequence[FunctionInfo]:
    """What a method of this name may be, as far as the name tells: the one that the project has, or those that a base
    class has subclasses do. Of several, each may leave something behind, and none is sure to communicate."""
    if target.receiver.types or target.receiver.data is not None:
        return ()
    only = receivers.only_method(frame, target.name)
    return (only,) if only is not None else receivers.of_a_base(frame, target.name)


# ---------------------------------------------------------------------- anything else
def unknown_call(
    frame: Frame, arguments: Arguments, receiver: Value | None, name: str = "", group: Axes | None = None
) -> Value:
    """An unknown call is pure: data stays data, a divergent scalar becomes unknown, callables given to it run.

    A call that by its name only keeps them (`setattr`, `register_hook`) does not run them.
    """
    run_callbacks(frame, arguments, name)
    boxes.handed_over(frame, arguments.expr)
    in_place.handed_over(frame, arguments.expr)
    values = [*arguments.values, *([receiver] if receiver is not None else [])]
    result = UNIFORM if values and all(v.uniform and v.target is None for v in values) else UNKNOWN
    data = None
    deps = NO_DEPS
    for v in values:
        data = worse(data, v.data)
        if v.divergence is not None and v.divergence.kind == "data":
            data = worse(data, v.divergence)
        if v.deps:
            # it may be there only where that is, which a forward's output always is
            deps |= recast(v.deps, MADE, FLOWS, ITEM) | recast(v.deps, CONTAINED, FLOWS, ITEM)
    asked = receiver.divergence if receiver is not None and receiver.data is None else None
    if asked is not None and asked.kind == "host" and last_name(arguments.expr.func) in _READS_OUT:
        return Value(divergence=asked)
    keeps_module = receiver is not None and name in ("to", "cuda", "cpu", "eval", "train", "half", "float")
    return result._replace(
        uniform=result.uniform and data is None,
        data=data,
        deps=deps,
        types=receiver.types if receiver is not None and keeps_module else NOTHING,
        group=group or _handed_out(frame, arguments.expr),
        module=receiver is not None and receiver.module and keeps_module,
        unwrapped=receiver is not None and receiver.unwrapped and keeps_module,
        agreed=data is None and ((receiver is not None and receiver.agreed) or _decodes(arguments)),
        multiple=name in iteration.CUTS and any(v.multiple for v in arguments.values),
        length=iteration.built_around(frame, arguments) if receiver is None else None,
    )


#: methods that hand back what an answer says: `requests.get(url).json()`
_READS_OUT = frozenset("json read decode strip".split())


def _handed_out(frame: Frame, call: f.Call) -> Axes | None:
    """The group that a call hands out by its name (`state.get_ulysses_group()`), kept in a variable or passed on."""
    return dimensions.axes_named(frame, call) if GIVES_GROUP.search(called_name(call)) else None


#: calls that make an object of bytes, or bytes of numbers
_DECODERS = frozenset("bytes bytearray memoryview BytesIO load loads frombuffer unpackb decode".split())


def _decodes(arguments: Arguments) -> bool:
    """`torch.load(io.BytesIO(received))`: what is read out of bytes that the ranks share is the same on all of them."""
    first = arguments.positional[0] if arguments.positional else None
    return first is not None and first.agreed and last_name(arguments.expr.func) in _DECODERS
