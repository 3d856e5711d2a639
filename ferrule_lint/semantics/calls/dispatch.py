"""Calls -> values, events and what they leave in their arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import builtin_calls, constructed, forwards, methods, modelled, receivers
from ferrule_lint.semantics.calls.instantiate import bind_arguments
from ferrule_lint.semantics.control import exceptions
from ferrule_lint.semantics.data import iteration, tensors
from ferrule_lint.semantics.domain.conditions import Atom
from ferrule_lint.semantics.domain.lattice import (
    CONTAINED,
    FLOWS,
    ITEM,
    NO_DEPS,
    NOTHING,
    PRIVATE,
    UNIFORM,
    UNKNOWN,
    UNKNOWN_GROUP,
    WORLD,
    Axes,
    Value,
    join,
    recast,
    worse,
)
from ferrule_lint.semantics.domain.targets import (
    DECORATED,
    ClassTarget,
    ExternalTarget,
    FunctionTarget,
    MethodTarget,
    PartialTarget,
    SeveralTarget,
)
from ferrule_lint.semantics.domain.text import last_name, place_name, render
from ferrule_lint.semantics.domain.trace import CallTerm, Choice
from ferrule_lint.semantics.gradients import gradient_order, participation, surgery
from ferrule_lint.semantics.groups import roots
from ferrule_lint.semantics.project import abstract
from ferrule_lint.semantics.project.names import ClassInfo, FunctionInfo
from ferrule_lint.semantics.sources import draws, first_rank, tokenizers
from ferrule_lint.semantics.sources.files import may_write
from ferrule_lint.semantics.walk import unreachable
from ferrule_lint.semantics.walk.attributes import FACTORIES, is_world_size, rank_axes

if TYPE_CHECKING:
    from ferrule_lint.models.types import CallModel
    from ferrule_lint.semantics.domain.summary import Summary
    from ferrule_lint.semantics.walk.frame import Frame

_MOST_ALTERNATIVES = 6
#: names of calls that store a callable for later
_KEEPS = re.compile(
    r"^(setattr|append|add|insert|extend|update|partial|wraps|field|setdefault|Process)$|(^|_)(register|subscribe|hook|on)(_|$)|^(add|set)_"
)
#: functions that, by their names, do not shard the module they are given
_LOOKS = re.compile(
    r"(load|save|get|print|log|count|len|next|list|isinstance|hasattr|getattr|id|type|unwrap|freeze)(_|$)"
)


class Arguments:
    """The evaluated arguments of a call."""

    __slots__ = ("expr", "keywords", "positional", "values")

    def __init__(self, expr: f.Call, positional: tuple[Value, ...], keywords: dict[str, Value]) -> None:
        self.expr = expr
        self.positional = positional
        self.keywords = keywords
        #: all of them
        self.values = (*positional, *keywords.values()) if keywords else positional

    def replaced(self, *, expr: f.Call | None = None, positional: tuple[Value, ...] | None = None) -> Arguments:
        """The same arguments for another call, or others for the same."""
        return Arguments(expr or self.expr, self.positional if positional is None else positional, self.keywords)

    @property
    def is_open(self) -> bool:
        """Whether `*args` or `**kwargs` may pass more than is seen."""
        return any(type(a) is f.Starred for a in self.expr.args) or any(k is None for k, _ in self.expr.keywords)

    def expression(self, name: str, position: int | None) -> f.Expr | None:
        for keyword, value in self.expr.keywords:
            if keyword == name:
                return value
        if position is not None and position < len(self.expr.args):
            if any(type(a) is f.Starred for a in self.expr.args[: position + 1]):
                return None
            return self.expr.args[position]
        return None


def call(frame: Frame, e: f.Call) -> Value:
    frame.line = e.pos[0]
    if may_write(e) and (path := frame.path_divergence()) is not None and path.kind == "rank":
        frame.files.write(e)
    else:
        frame.files.save(e, lambda argument: iteration.definition(frame, argument))
    special = _super_call(frame, e)
    function = special if special is not None else frame.eval(e.func)
    e = _spread(frame, e)
    positional = tuple([frame.eval(a) for a in e.args])
    keywords: dict[str, Value] = {}
    for name, expr in e.keywords:
        value = frame.eval(expr)
        keywords[name or "**"] = value
    arguments = Arguments(e, positional, keywords)
    if type(e.func) is f.Attr:
        unreachable.of_nothing(frame, e.func)
    if type(function.target) is not FunctionTarget and not _LOOKS.match(last_name(e.func)):
        for expr in e.args:
            seen_by_others(frame, expr)
        for _, expr in e.keywords:
            seen_by_others(frame, expr)
    before, marks = len(frame.terms), len(frame.gradient_marks)
    result = dispatch(frame, function, arguments)
    if _meets_outside(e):
        result = result._replace(group=PRIVATE)
    if any(type(t) is CallTerm and _meets(t.summary) for t in frame.terms[before:]):
        frame.files.collective(frame.conditions)
    exceptions.after_call(frame, e, arguments.values, before)
    if len(frame.gradient_marks) == marks:
        gradient_order.of_call(frame, e)
    if frame.gradients:
        receiver = function.target.receiver if type(function.target) is MethodTarget else None
        values = (function if receiver is None else receiver, *arguments.values)
        if special is not None and type(special.target) is ExternalTarget:
            result = participation.of_super(frame, arguments, result)
        result = participation.after_call(frame, e, result, values)
    return result


def _spread(frame: Frame, e: f.Call) -> f.Call:
    """`f(*args)` of a tuple that was written out just before: its items are the arguments."""
    if not any(type(a) is f.Starred for a in e.args):
        return e
    args: list[f.Expr] = []
    for arg in e.args:
        made = iteration.definition(frame, arg.value) if type(arg) is f.Starred else None
        if type(made) is f.Sequence and all(place_name(x) or type(x) is f.Const for x in made.elements):
            args += made.elements
        else:
            args.append(arg)
    return e._replace(args=tuple(args))


def _meets(summary: Summary) -> bool:
    """Whether ranks meet in a call, as far as is known for sure."""
    return any(not event.hidden and event.confidence > Confidence.LOW for event in summary.events)


def _meets_outside(e: f.Call) -> bool:
    """A group for which a rank and a size of its own are given (`init_custom_process_group(rank=0, world_size=3)`):
    whoever makes it meets processes of another program."""
    name = last_name(e.func)
    given = {k for k, _ in e.keywords}
    return {"rank", "world_size"} <= given and name != "init_process_group" and _MAKES_GROUP.search(name) is not None


_MAKES_GROUP = re.compile(r"(init|new|make|create|setup)\w*process_group|communicator$", re.IGNORECASE)


def seen_by_others(frame: Frame, expr: f.Expr | None) -> None:
    """What is passed to a call may be sharded there."""
    if type(expr) is not f.Name and type(expr) is not f.Attr:
        return
    value = frame.env.get(place := place_name(expr))
    if value is None:
        return
    if value.deps:
        frame.wraps.update(p for p, _ in value.deps)
    if value.unwrapped:
        frame.env[place] = value._replace(unwrapped=False)


def _super_call(frame: Frame, e: f.Call) -> Value | None:
    """`super().name(...)`: the next method after the enclosing class in the receiver's order."""
    func = e.func
    if type(func) is not f.Attr or type(func.base) is not f.Call or last_name(func.base.func) != "super":
        return None
    if frame.self_class is None or frame.function is None or frame.self_name is None:
        return None
    owner = frame.module.classes.get(frame.function.owner or "")
    if owner is None:
        return None
    method = frame.analysis.names.method_after(frame.self_class, owner, func.attr)
    receiver = frame.read(frame.self_name)
    if method is not None:
        return Value(uniform=True, target=FunctionTarget(method, receiver))
    for base in frame.analysis.names.external_bases(owner):
        if frame.models.call(f"{base}.{func.attr}") is not None:
            return Value(uniform=True, target=ExternalTarget(f"{base}.{func.attr}"))
    return Value(target=ExternalTarget(f"super.{func.attr}"))


def dispatch(frame: Frame, function: Value, arguments: Arguments) -> Value:
    """Call a value."""
    e = arguments.expr
    target = function.target
    if target is DECORATED:
        frame.decorated.append(tuple(frame.conditions))
        return UNKNOWN
    if type(target) is ExternalTarget:
        return _external(frame, target.dotted, function, arguments)
    if type(target) is FunctionTarget:
        return _project(frame, target, arguments)
    if type(target) is ClassTarget:
        return _construct(frame, target, arguments)
    if type(target) is PartialTarget:
        merged = Arguments(
            e._replace(args=(*(f.Const("<partial>") for _ in target.arguments), *e.args)),
            (*target.arguments, *arguments.positional),
            {**dict(target.keywords), **arguments.keywords},
        )
        return dispatch(frame, target.target, merged)
    if type(target) is SeveralTarget:
        return _several(frame, target, arguments)
    if type(target) is MethodTarget and target.name in methods.COUNTS:
        return methods.size(frame, target, arguments)
    if type(target) is MethodTarget and target.receiver.external is not None:
        model = _method_model(frame, target.receiver, target.name)
        if model is not None:
            if model.makes:
                _run_callbacks(frame, arguments, target.name)
            return modelled.apply(frame, model, arguments, target.receiver, Confidence.parse(model.confidence))
    quiet = type(target) is MethodTarget and forwards.runs_nothing(target.name)
    if not quiet and (function.types or function.module or function.external is not None):
        value = _call_instance(frame, function, arguments)
        if value is not None:
            return value
    tokens = tokenizers.call(frame, arguments)
    if tokens is not None:
        return tokens
    if type(target) is MethodTarget:
        return _method(frame, target, arguments)
    value = forwards.by_name(frame, function, arguments)
    if value is not None:
        return value
    named = rank_by_name(frame, e)
    return named if named is not None else unknown_call(frame, arguments, None)


# ---------------------------------------------------------------------- outside the project
def _external(frame: Frame, dotted: str, function: Value, arguments: Arguments) -> Value:
    e = arguments.expr
    roots.check(frame, frame.models.canonical(dotted), arguments)
    builtin = builtin_calls.call(frame, dotted, arguments)
    if builtin is not None:
        return builtin
    if dotted == "torch.numel" and arguments.positional:
        return methods.size(
            frame, MethodTarget(arguments.positional[0], "numel"), Arguments(e._replace(args=()), (), {})
        )
    if dotted.startswith("torch."):
        tensor = tensors.call(frame, dotted.rpartition(".")[2], arguments, None)
        if tensor is not None and not dotted.startswith("torch.distributed"):
            return draws.drawn(frame, dotted, e, tensor)
    if dotted.startswith("numpy.") and (array := tensors.of_numpy(frame, dotted[6:], arguments)) is not None:
        return array
    model = frame.models.call(dotted)
    if model is not None:
        if model.makes:  # a thread, a process, a future
            _run_callbacks(frame, arguments, dotted.rpartition(".")[2])
        return modelled.apply(frame, model, arguments, None, Confidence.parse(model.confidence))
    role = frame.models.class_(dotted)
    if role is not None:
        data = next((v.data for v in arguments.values if v.data), None)
        length, shape, deps = None, None, NO_DEPS
        if role.role == "loader":
            length, shape, deps = iteration.of_loader(frame, arguments)
        return Value(
            length=length,
            length_deps=deps,
            shape=shape,
            uneven_last=shape is not None,  # of the batches, not of the loader
            uniform=role.role not in ("loader",),
            external=frame.models.canonical(dotted),
            module=role.role in ("module", "sharded", "ddp", "leaf"),
            loader=role.role == "loader",
            group=frozenset(role.axes) or None,
            data=data if role.role not in ("module", "leaf", "sharded", "ddp", "loader", "group") else None,
            element_types=NOTHING.union(*(v.types | v.element_types for v in arguments.values)) or NOTHING,
        )
    class_name, _, last = dotted.rpartition(".")
    for candidate in (dotted, class_name if last in FACTORIES else ""):
        if candidate and frame.analysis.is_module_class(candidate):
            return Value(external=candidate, module=True, unwrapped=True)
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
    return unknown_call(frame, arguments, None, name=dotted.rpartition(".")[2], group=function.group)


def rank_by_name(frame: Frame, e: f.Call) -> Value | None:
    """`get_rank()`, `is_main_process()`: by the naming convention."""
    name = last_name(e.func)
    if not name:
        return None
    if is_world_size(name):
        return Value(uniform=True, world_size=True)
    axes = frame.models.convention("rank", name)
    if axes is None:
        return None
    where = rank_axes(frame, frozenset(axes), e)
    note = f"`{render(e.func)}()` differs by rank"
    # a place in a group that cannot be told: what its members do in groups of their own is their business
    somewhere = where == UNKNOWN_GROUP
    return first_rank.named(
        Value(divergence=frame.source(where, "rank", e.pos, note, Confidence.MEDIUM, member=somewhere)), name
    )


# ---------------------------------------------------------------------- inside the project
def _project(frame: Frame, target: FunctionTarget, arguments: Arguments) -> Value:
    e = arguments.expr
    function = target.function
    name = f"{function.module.name}.{function.qualname}"
    model = frame.models.call(name)
    if model is not None and (model.event or model.returns != "unknown" or model.creates_group):
        roots.check(frame, frame.models.canonical(name), arguments)
        return modelled.apply(frame, model, arguments, target.receiver, Confidence.parse(model.confidence))
    if frame.models.convention("initialized", function.name) is not None:
        return Value(uniform=True, const="True")
    if is_world_size(function.name):
        return Value(uniform=True, world_size=True)
    implemented = abstract.call(frame, target, arguments)
    value = implemented or frame.analysis.call_function(
        frame, function, target.receiver, arguments.positional, arguments.keywords, e.pos,
        call=e, closure=target.closure, raw=target.raw,
    )  # fmt: skip
    if target.receiver is not None and (shared := iteration.by_name(frame, function.name, target.receiver, arguments)):
        value = value._replace(length=shared.length, multiple=shared.multiple)
    own = value.divergence
    if own is not None and own.kind == "rank" and not own.axes.isdisjoint(WORLD | UNKNOWN_GROUP):
        # the name tells along which axis it asks: `is_first_pipeline_stage()`, whatever it is worked out from
        axes = frozenset(frame.models.convention("rank", function.name) or WORLD)
        value = value if axes == WORLD else value._replace(divergence=own._replace(axes=axes))
    if value.divergence is None and not value.uniform:
        named = rank_by_name(frame, e)
        if named is not None and named.divergence is not None and not value.data:
            return named
    if target.receiver is not None and function.name == "forward":
        return forwards.forward_of_instance(frame, target.receiver, arguments, value) or value
    return value


def _construct(frame: Frame, target: ClassTarget, arguments: Arguments) -> Value:
    info = target.info
    model = frame.models.call(f"{info.module.name}.{info.qualname}")
    if model is not None and model.event:
        modelled.apply(frame, model, arguments, None, Confidence.parse(model.confidence))
    instance = Value(types=frozenset({info}), there=True, unwrapped=frame.analysis.is_module(info))
    method = frame.analysis.names.method(info, "__init__")
    given: tuple[tuple[str, Value], ...] = ()
    if method is not None:
        frame.analysis.call_function(
            frame, method, instance, arguments.positional, arguments.keywords, arguments.expr.pos, call=arguments.expr
        )
        if not frame.light:
            bound = bind_arguments(method, instance, arguments.positional, arguments.keywords, arguments.expr)
            del bound[method.parameters[0].name]
            given = constructed.kept(frame, bound, arguments.expr.pos)
    data = None
    if not frame.analysis.is_module(info):
        data = next((v.data for v in arguments.values if v.data), None)
    entries = _fields_of_record(frame, info, arguments) if method is None and not frame.light else ()
    return instance._replace(data=data, given=given, entries=entries)


def _fields_of_record(frame: Frame, info: ClassInfo, arguments: Arguments) -> tuple[tuple[str, Value], ...]:
    """What a data class or named tuple is made of, where that tells something."""
    if arguments.is_open or not any(v.tells for v in arguments.values):
        return ()
    mro = reversed(frame.analysis.names.mro(info))
    names = [n for c in mro for n, statement in c.attributes.items() if statement.annotation is not None]
    given = dict(zip(dict.fromkeys(names), arguments.positional, strict=False)) | arguments.keywords
    return tuple((name, value) for name, value in given.items() if value.tells)


def _several(frame: Frame, target: SeveralTarget, arguments: Arguments) -> Value:
    """One of several callables, which one is not known: the events are a choice between theirs."""
    e = arguments.expr
    results: list[Value] = []
    traces = []
    for option in target.targets[:_MOST_ALTERNATIVES]:
        with frame.recording() as terms:
            results.append(dispatch(frame, option, arguments))
        traces.append(tuple(terms))
    trace = traces[-1]
    for i, other in enumerate(reversed(traces[:-1])):
        if other == trace:
            continue
        atom = Atom(f"target{i} of {frame.key(e.func)} at {e.pos}", None, NO_DEPS)
        trace = (Choice(atom, other, trace, frame.module.path, e.pos, render(e.func), "dispatch"),)
    frame.terms.extend(trace)
    return join(results)


def _call_instance(frame: Frame, function: Value, arguments: Arguments) -> Value | None:
    """`instance(...)`: a module's forward, or `__call__`."""
    forward = forwards.forward_of_instance(frame, function, arguments, None)
    names = frame.analysis.names
    results: list[Value] = []
    for info in sorted(function.types, key=lambda c: c.id)[:_MOST_ALTERNATIVES]:
        method = names.method(info, "__call__") or names.method(info, "forward")
        if method is None:
            continue
        receiver = function._replace(types=frozenset({info}))
        result = frame.analysis.call_function(
            frame, method, receiver, arguments.positional, arguments.keywords, arguments.expr.pos, call=arguments.expr
        )
        results.append(result)
    if results:
        value = join(results)
        if forward is not None and forward.data is not None and value.data is None and value.divergence is None:
            value = value._replace(data=forward.data)
        if forward is not None:
            only = next(iter(function.types)) if len(function.types) == 1 else None
            value = participation.of_forward(frame, forwards.channel(arguments), arguments, value, only)
        return value
    return forward


# ---------------------------------------------------------------------- methods of unknown receivers
def _method(frame: Frame, target: MethodTarget, arguments: Arguments) -> Value:
    e = arguments.expr
    receiver = target.receiver
    receiver_expr = e.func.base if type(e.func) is f.Attr else None
    text = last_name(receiver_expr.func if type(receiver_expr) is f.Call else receiver_expr)
    if target.name in surgery.METHODS and not frame.light:
        surgery.of_method(frame, target.name, receiver, e)
    if target.name == "backward":
        forwards.backward(frame, receiver, arguments)
    if target.name in methods.SIZES:
        return methods.size(frame, target, arguments)
    known = receiver.data is not None or receiver.divergence is not None or receiver.shape is not None
    passed = any(how in (FLOWS, ITEM) for _, how in receiver.deps) and not receiver.types and not receiver.module
    if known or passed or target.name.startswith("new_"):  # only tensors have `new_zeros` and its like
        tensor = tensors.call(frame, target.name, arguments, receiver)
        if tensor is not None and not frame.models.method(target.name, text):
            return tensor
    model = _method_model(frame, receiver, target.name)
    if model is not None:
        return modelled.apply(frame, model, arguments, receiver, Confidence.parse(model.confidence))
    if not receiver.types and receiver.data is None and receiver.shape is None:
        model = frame.models.method(target.name, text)
        if model is not None:
            return modelled.apply(frame, model, arguments, receiver, _by_convention(model))
    value = methods.method(frame, target, arguments)
    if value is not None:
        return value
    if target.name == "generate" and any(v.data is not None for v in arguments.values):
        return forwards.generated(frame, "generate", arguments)
    value = forwards.by_name(frame, receiver, arguments)
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
    by_name = _only_method(frame, target, text)
    if by_name is not None:
        guessed = receiver._replace(types=NOTHING)
        return frame.analysis.call_function(
            frame, by_name, guessed, arguments.positional, arguments.keywords, e.pos, call=e,
            confidence=Confidence.LOW,
        )  # fmt: skip
    return unknown_call(frame, arguments, receiver, name=target.name)


def _by_convention(model: CallModel) -> Confidence:
    """How sure a model is whose method was recognised by the receiver's name."""
    return min(Confidence.MEDIUM, Confidence.parse(model.confidence))


def _method_model(frame: Frame, receiver: Value, name: str) -> CallModel | None:
    candidates: list[str] = []
    if receiver.external is not None:
        candidates.append(receiver.external)
    for info in receiver.types:
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


def _only_method(frame: Frame, target: MethodTarget, text: str) -> FunctionInfo | None:
    """The method of this name when only one class of the project has it and the name is not an everyday one."""
    if target.receiver.types or target.receiver.data is not None or target.name.startswith("__"):
        return None
    everyday = len(target.name) < 8 or "_" not in target.name.strip("_")
    return None if everyday else frame.analysis.names.only_method(target.name)


# ---------------------------------------------------------------------- unknown calls
def unknown_call(
    frame: Frame, arguments: Arguments, receiver: Value | None, name: str = "", group: Axes | None = None
) -> Value:
    """An unknown call is pure: data stays data, a divergent scalar becomes unknown, callables given to it run.

    A call that by its name only keeps them (`setattr`, `register_hook`) does not run them.
    """
    _run_callbacks(frame, arguments, name)
    values = [*arguments.values, *([receiver] if receiver is not None else [])]
    result = UNIFORM if values and all(v.uniform and v.target is None for v in values) else UNKNOWN
    data = None
    deps = NO_DEPS
    for v in values:
        data = worse(data, v.data)
        if v.divergence is not None and v.divergence.kind == "data":
            data = worse(data, v.divergence)
        if v.deps:
            deps |= recast(v.deps, CONTAINED, FLOWS, ITEM)
    keeps_module = receiver is not None and name in ("to", "cuda", "cpu", "eval", "train", "half", "float")
    return result._replace(
        uniform=result.uniform and data is None,
        data=data,
        deps=deps,
        types=receiver.types if receiver is not None and keeps_module else NOTHING,
        group=group,
        module=receiver is not None and receiver.module and keeps_module,
        unwrapped=receiver is not None and receiver.unwrapped and keeps_module,
        agreed=receiver is not None and receiver.agreed and data is None,
        multiple=name in iteration.CUTS and any(v.multiple for v in arguments.values),
    )


def _run_callbacks(frame: Frame, arguments: Arguments, name: str) -> None:
    """The callables that a call is given run, unless it keeps them by its name."""
    if _KEEPS.search(name) is not None:
        return
    for i, value in enumerate(arguments.values):
        if type(value.target) in (FunctionTarget, PartialTarget) and _is_callback(value):
            dispatch(frame, value, _handed_on(arguments, i))


def _handed_on(arguments: Arguments, i: int) -> Arguments:
    """What a call gets that is handed to an unknown one: by Python's habit (`submit`, `run`, `run_in_executor`), the
    positional arguments that follow it."""
    e = arguments.expr
    rest = arguments.positional[i + 1 :] if i < len(e.args) else ()
    if arguments.is_open or any(v.target is not None for v in rest):
        rest = ()
    return Arguments(e._replace(args=e.args[i + 1 :] if rest else (), keywords=()), rest, {})


def _is_callback(value: Value) -> bool:
    target = value.target
    while type(target) is PartialTarget:
        target = target.target.target
    return type(target) is FunctionTarget and not target.function.is_generator
