"""Calls of modules: which of them are forwards of a sharded module, and so issue events without saying so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls.copies import is_copy
from ferrule_lint.semantics.calls.made_beside import is_kept_in_file, is_made_beside
from ferrule_lint.semantics.calls.sharded_only import asked_of_attribute
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.dependences import DATA, FLOWS, HOLDS, MADE, NO_DEPS, made_of, only
from ferrule_lint.semantics.domain.lattice import Divergence, Value, worse
from ferrule_lint.semantics.domain.targets import MethodTarget
from ferrule_lint.semantics.domain.text import called_name, last_name, place_name, render, shown
from ferrule_lint.semantics.domain.trace import ITSELF, CallTerm, Event
from ferrule_lint.semantics.gradients import built_here, leaves, over_devices, participation, partly_used
from ferrule_lint.semantics.project import given_parts, own_parts, prepared_beside
from ferrule_lint.semantics.project.entities import by_id
from ferrule_lint.semantics.project.programs import of_one_process
from ferrule_lint.semantics.project.training import asked_by_other_programs, asked_only_to_infer, only_infers
from ferrule_lint.semantics.walk import wrapped_under

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.project.entities import ClassInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: methods of a module of unknown class that run nothing
_NO_FORWARD = re.compile(
    r"(get|set|is|has|load|save|state|named|parameters|modules|children|train|eval|to|cuda|cpu|half|float|bfloat16|"
    r"register|requires|apply|init|reset|resize|enable|disable|gradient|compile|zero|post|tie|buffers|keys|items|"
    r"values|append|extend|insert|add|update|numel|weight|fuse|merge|unmerge|num|config|size|double|type|share|print|"
    r"map|freeze|unfreeze|prepare|prune|dtype|device|no_sync|from|push|create|build|make|check|log|print|bind|can_|supports?_|"
    r"should_|remove|delete|clear|flush|close|open_|dump|write|read_|validate|verify|assert|convert|export|upload|_|"
    r"\w+_(configs?|names|specs?|sizes?|shapes?|types?|infos?|counts?|keys|ids|inputs|kwargs)$|"
    # of a parameter, which is a tensor
    r"((un)?squeeze|expand(_as)?|view(_as)?|reshape|permute|transpose|clone|detach|contiguous|item|tolist|dim|numpy|chunk|"
    r"unbind|(copy|fill|mul|div|sub)_|masked_fill|index_select|repeat(_interleave)?|argmax|new_\w+|data_ptr|element_size)$)"
)


def runs_nothing(name: str) -> bool:
    """Whether a method of a module of unknown class, by its name, runs no forward (`named_parameters`, `to`)."""
    return _NO_FORWARD.match(name) is not None


def forward_of_instance(frame: Frame, function: Value, arguments: Arguments, result: Value | None) -> Value | None:
    """A call of a module instance: a hidden event when it is sharded. None when it is not known to be a module."""
    analysis = frame.analysis
    external = function.external or _with_forward_of(function)
    model = frame.models.class_(external) if external else None
    role = model.role if model is not None else ""
    modules = [c for c in by_id(function.types) if analysis.is_module(c)]
    known = bool(modules) or function.module or role in ("module", "sharded", "ddp", "leaf")
    if not known and not is_own_part(frame, function, arguments.expr.func):
        return result
    if role == "ddp" and analysis.sharding.shares_buffers(modules, not modules and _has_statistics(frame)):
        note = f"the forward of `{shown(arguments.expr.func)}` {_BUFFERS}{_FIRST if frame.no_gradient else ''}"
        emit(frame, arguments, Confidence.HIGH, note, modules[0].id if modules else "")
    # nothing is known of it but that it comes from a module: `tables = getattr(module, "tables")`
    accessor = not (modules or role or arguments.expr.args or arguments.expr.keywords)
    bare = function.unwrapped or wrapped_under.is_ruled_out(frame, function)
    if role != "leaf" and role != "ddp" and not bare and not accessor:
        confidence, cls = _sharded(frame, function, role, arguments.expr.func)
        if confidence is not None:
            confidence = Confidence.LOW if function.absent is not None else confidence  # the others have no part of it
            shared = function.external is not None and function.external.endswith("SyncBatchNorm")
            note = f"the forward of `{shown(arguments.expr.func)}` {_STATISTICS}" if shared else ""
            emit(frame, arguments, confidence, note, cls)
    if result is None and last_name(arguments.expr.func) == "generate":
        return generated(frame, "generate", arguments)
    output = _output(arguments)
    data = output.data
    # of a wrapper that a function is handed along with what goes in, its callers know what comes out
    handed = bool(output.deps) and place_name(arguments.expr.func) in frame.given
    parallel = role in ("sharded", "ddp") or external in frame.models.engines
    if data is None and parallel and not handed and not all(v.uniform for v in arguments.values):
        note = f"`{shown(arguments.expr.func)}` is data parallel: each rank has its own output"
        data = frame.source(DP, "data", arguments.expr.pos, note, Confidence.MEDIUM)
    value = result or Value()
    if value.data is None:
        value = value._replace(data=data, deps=value.deps | output.deps)
    untold = not modules and role in ("", "module")
    trains_nothing = role == "leaf" or (untold and (_attends(arguments.expr) or _is_beside(frame, arguments.expr.func)))
    return value if trains_nothing else participation.of_forward(frame, channel(arguments), arguments, value, modules)


def _with_forward_of(function: Value) -> str | None:
    """The class of what another forward of its own is called on: `model.forward_with_cache(x)`."""
    target = function.target
    if type(target) is MethodTarget and target.name.startswith("forward_"):
        return target.receiver.external
    return None


def is_own_part(frame: Frame, function: Value, called: f.Expr) -> bool:
    """Whether what is called is an attribute of this module, of which nothing is known but that it is sharded: by
    itself, or as a model that the constructor was given, with the rest of the module."""
    owner = frame.self_class
    if owner is None or function.types or function.external is not None or not frame.in_module:
        return False
    if _taken_from(frame, owner, called):
        return True
    name = place_name(called).removeprefix(f"{frame.self_name}.")
    if place_name(called) == name or "." in name:
        return False
    sharding = frame.analysis.sharding
    return sharding.is_own_part(owner, name) or (given_parts.is_model(owner, name) and sharding.is_in_parts(owner))


def _taken_from(frame: Frame, owner: ClassInfo, called: f.Expr) -> str:
    """The attribute of this module, if its parts are seen to be sharded, that what is called is one of
    (`self.layers[0]`, and `layer` in `for layer in self.layers`); "" if it is none."""
    if frame.function is None or type(called) is f.Attr or not frame.analysis.sharding.has_own_parts(owner):
        return ""
    name = own_parts.attribute(frame.function, called)
    return name if name and frame.analysis.sharding.is_own_part(owner, name) else ""


def _has_statistics(frame: Frame) -> bool:
    """Whether a file has batch norms of its model do their statistics together: there are running ones, which are
    buffers, whatever class the model is of."""
    return frame.module.mentions_like(_CONVERTED)


_CONVERTED = re.compile(r"convert_sync_?batchnorm", re.IGNORECASE)
_BUFFERS = "broadcasts its buffers"
#: DDP sends them before a forward if the one before was with gradients
_FIRST = " if it is the first without gradients"
_STATISTICS = "reduces the statistics of the batch"


def shares_buffers(analysis: Analysis, module: Value) -> bool:
    """Whether a value is a module in DDP whose forward broadcasts buffers."""
    wrapper = analysis.models.class_(module.external) if module.external else None
    if wrapper is None or wrapper.role != "ddp":
        return False
    return analysis.sharding.shares_buffers([c for c in module.types if analysis.is_module(c)])


def is_wrapped(analysis: Analysis, module: Value) -> bool:
    """Whether a value is a module that something has sharded, or put into DDP, or an engine around one."""
    wrapper = analysis.models.class_(module.external) if module.external else None
    return wrapper is not None and (wrapper.role in ("sharded", "ddp") or module.external in analysis.models.engines)


def is_of_buffers(event: Event) -> bool:
    """Whether an event is the broadcast of a forward under DDP."""
    return event.op == "forward" and event.note.endswith((_BUFFERS, _BUFFERS + _FIRST))


def is_of_first(event: Event) -> bool:
    """Whether an event is the broadcast of the first of several forwards under DDP, and the others issue nothing."""
    return event.op == "forward" and event.note.endswith(_FIRST)


def made_in(call: CallTerm, event: Event) -> Event:
    """An event that a call leads to, as it is there: with gradients off it may be of the first forward alone."""
    first = call.no_gradient and is_of_buffers(event) and not is_of_first(event)
    return event._replace(note=event.note + _FIRST) if first else event


def is_of_statistics(event: Event) -> bool:
    """Whether an event is the reduction in the forward of a batch norm that ranks do together."""
    return event.op == "forward" and event.note.endswith(_STATISTICS)


def _sharded(frame: Frame, function: Value, role: str, called: f.Expr) -> tuple[Confidence | None, str]:
    """How sure it is that this module's forward gathers parameters (None: no evidence), and the id of the class that
    tells so."""
    if role == "sharded":
        return Confidence.HIGH, min((c.id for c in function.types), default="")
    analysis = frame.analysis
    if function.external in frame.models.engines and analysis.sharding.by_engines:
        return Confidence.HIGH, ""
    best: Confidence | None = None
    cls = ""
    for info in by_id(function.types):
        found = analysis.sharding.of_class(info)
        if found is not None and (best is None or found > best):
            best, cls = found, info.id
    owner = frame.self_class
    if best is not None and owner is not None and analysis.sharding.is_replicated(owner):
        return Confidence.LOW, cls
    part = analysis.names.class_of_id(cls)
    if best is not None and part is not None and of_another_model(frame, part):
        return Confidence.LOW, cls
    if best is None and not function.types:
        if owner is not None and analysis.is_module(owner):
            # a submodule of unknown class is sharded with the module that owns it
            return analysis.sharding.of_part(owner, _taken_from(frame, owner, called) or last_name(called)), owner.id
        unknown = _unknown(frame, called)
        told = unknown is not None and owner is not None and asked_of_attribute(owner, place_name(called))
        return Confidence.HIGH if told else unknown, ""
    return best, cls


def _unknown(frame: Frame, called: f.Expr) -> Confidence | None:
    """How sure it is that what is called here, of unknown class, is sharded: a guess for what an object has beside the
    modules that its class wraps."""
    unknown = frame.analysis.sharding.unknown
    return Confidence.LOW if unknown is not None and _is_beside(frame, called) else unknown


def _is_beside(frame: Frame, called: f.Expr) -> bool:
    me, _, name = place_name(called).partition(".")
    if frame.self_class is None or me != frame.self_name or not name:
        return False
    return prepared_beside.is_beside(frame.analysis, frame.self_class, name.partition(".")[0])


def is_copied(frame: Frame, module: Value, events: Sequence[Event]) -> bool:
    """Whether all that a method of a module issues is that its parts are gathered, and this one is in DDP, which copies
    it, whatever else its class is wrapped in."""
    wrapper = frame.models.class_(module.external) if module.external else None
    if wrapper is None or wrapper.role != "ddp":
        return False
    return all(e.op == "forward" and e.hidden and not is_of_buffers(e) and not is_of_statistics(e) for e in events)


def is_pass(event: Event) -> bool:
    """Whether an event is hidden in the forward or the backward pass of a module."""
    return event.hidden and event.op in ("forward", "backward")


def of_another_model(frame: Frame, info: ClassInfo) -> bool:
    """Whether a module of a class that is seen to be sharded as a part of some model runs in another model here, of
    which nothing says so."""
    owner, sharding = frame.self_class, frame.analysis.sharding
    if owner is None or not (frame.in_module or _has_role(frame, "leaf")) or info in frame.analysis.names.mro(owner):
        return False
    return (sharding.of_class(owner) or Confidence.LOW) == Confidence.LOW and sharding.is_part(info)


def in_inference(frame: Frame) -> bool:
    """Whether what runs here is hardly the model that the project shards to train it: two guesses are one too many."""
    return only_infers(frame.module, frame.models.wrapping) or (
        frame.function is not None
        and (_is_asked_by_generation(frame) or _generates(frame) or asked_only_to_infer(frame.analysis, frame.function))
    )


def is_elsewhere(frame: Frame) -> bool:
    """The same, or whether what runs here has to do with no file that shards something."""
    return in_inference(frame) or not frame.analysis.sharding.is_near(frame.module.path)


def _generates(frame: Frame) -> bool:
    """Whether a method of a module is called as what generates with transformers' models is, or is for such a method
    alone: `generate`, and `generate_images` that only it calls. All that is in a mixin for generation is."""
    function, owner = frame.function, frame.self_class
    if function is not None and _MIXES_IN.search(function.owner or ""):
        return True
    if not frame.in_module or function is None or owner is None or not _GENERATES.match(function.name):
        return False
    if function.name == "generate" or function.turns_gradients_off:
        return True
    callers = [m for m in owner.methods.values() if any(last_name(c.func) == function.name for c in m.calls)]
    return bool(callers) and all(m.name == "generate" or m.turns_gradients_off for m in callers)


_GENERATES = re.compile(r"_*generate(_|$)")
#: transformers' own, copies of it, and what is made like it: how a model writes, for classes that have one
_MIXES_IN = re.compile(r"Generation\w*Mixin$")


def _is_asked_by_generation(frame: Frame) -> bool:
    """Whether a method is of what only a model that writes asks: a processor of its logits."""
    return _has_role(frame, "generation")


def _has_role(frame: Frame, role: str) -> bool:
    """Whether the class that is walked inherits from a library's class with a role."""
    bases = frame.analysis.names.external_bases(frame.self_class) if frame.self_class is not None else ()
    models = (frame.models.class_(base) for base in bases)
    return any(model is not None and model.role == role for model in models)


def is_for_other_programs(frame: Frame) -> bool:
    """Whether what runs here is run by programs alone that wrap nothing."""
    return frame.function is not None and asked_by_other_programs(frame.analysis, frame.function)


def emit(frame: Frame, arguments: Arguments, confidence: Confidence, note: str = "", cls: str = "") -> None:
    func = arguments.expr.func
    note = note or f"the forward of `{shown(func)}` gathers its sharded parameters"
    expr = arguments.expr
    assumed = confidence < Confidence.HIGH
    alone = assumed and (
        of_one_process(frame.analysis, frame.module)
        or _makes_samples(frame)
        or is_elsewhere(frame)
        or frame.analysis.is_file_of_another_framework(frame.module)
        or _trains_alone(frame)
        or _attends(expr)
        or _past_hooks(func)
        or is_copy(frame, func)
        or is_made_beside(frame, func)
        or is_kept_in_file(frame, func)
        or _BARE.fullmatch(last_name(func)) is not None
    )
    alone = alone or is_for_other_programs(frame) or _is_bare_part(frame, func, cls)
    confidence = min(confidence, Confidence.LOW if alone else Confidence.MEDIUM)
    frame.emit(
        Event(
            "forward", DP, channel(arguments), frame.module.path, expr.pos, confidence, True, note, "",
            stands_in(expr) or _names_stand_in(func), assumed, cls,
        )
    )  # fmt: skip


#: what a loader asks a data set of torch's for, in worker processes mostly
_SAMPLES = frozenset(("__iter__", "__next__", "__getitem__", "__getitems__"))


def _makes_samples(frame: Frame) -> bool:
    """Whether this is where a data set makes its samples: what it runs (`self.transforms[key](x)`) is nothing that
    ranks hold together."""
    if frame.function is None or frame.self_class is None or frame.function.name not in _SAMPLES:
        return False
    bases = frame.analysis.names.external_bases(frame.self_class)
    return any(base.startswith("torch.utils.data.") for base in bases)


#: what a kernel of attention is given, by the names of its first three arguments
_ATTENDED = tuple(re.compile(rf"x?({word}|{word[0]})(_\w+)?") for word in ("query", "key", "value"))


def _attends(call: f.Call) -> bool:
    """Whether a call is given queries, keys and values that have been projected before: `self.attn(q, k, v)`. What it
    runs has mostly no parameters of its own."""
    given = (*call.args, *(value for name, value in call.keywords if name in ("query", "key", "value")))[:3]
    return len(given) == 3 and all(
        named.fullmatch(last_name(expr)) is not None for named, expr in zip(_ATTENDED, given, strict=True)
    )


#: modules that, by their names, have no parameters
_BARE = re.compile(
    r"(\w+_)?(rotary|rope)(_pos)?(_emb(edding)?s?)?|(\w+_)?(loss(es)?|loss_(fn|func|fct|function|module)s?|criterions?)|"
    r"(\w+_)?(dropout|drop_path|act(ivation)?(_fn)?|softmax)\d*|(\w+_)?metrics?(_fn)?"
)


def _is_bare_part(frame: Frame, func: f.Expr, cls: str) -> bool:
    """The same for a part of a module that is sharded, and not itself."""
    info = frame.analysis.names.class_of_id(cls) if cls and _BARE.fullmatch(last_name(func)) else None
    return info is not None and frame.analysis.sharding.is_part(info)


def _past_hooks(func: f.Expr) -> bool:
    """`layer.forward(x)`: what gathers a module's parameters hangs on its call. What FSDP has made a module of its own
    does so in `forward`, but then its class is known."""
    return type(func) is f.Attr and func.attr == "forward" and called_name(func.base) != "super"


def channel(arguments: Arguments) -> str:
    """The module's name in a call of it, with its place in a list or dict where that is written out."""
    func = arguments.expr.func
    if type(func) is f.Subscript and type(func.index) is f.Const and (holder := last_name(func.base)):
        return f"{holder}[{func.index.text}]"
    name = last_name(func if type(func) is not f.Subscript else func.base) or render(func)
    of_itself = name == "forward" or _STAND_IN.search(name) is not None
    return (last_name(func.base) or name) if of_itself and type(func) is f.Attr else name


_STAND_IN = re.compile(r"(^|_)(dummy|fake|mock(ed)?|placeholder)(_|$)", re.IGNORECASE)


def _names_stand_in(expr: f.Expr) -> bool:
    """Whether a variable or a function is called a stand-in."""
    return _STAND_IN.search(last_name(expr)) is not None


def stands_in(call: f.Call) -> bool:
    """Whether a call is given something that, by its name, only stands in for a real input."""
    return any(_names_stand_in(v) for v in (*call.args, *(v for _, v in call.keywords)))


def runs_stand_in(call: f.Call, events: Sequence[Event]) -> bool:
    """Whether a call makes the stand-in itself and runs modules on it, by its name (`self.visual.dummy_forward()`) or
    because what it calls runs them on nothing else."""
    if _names_stand_in(call.func):
        return any(e.op == "forward" and e.hidden for e in events)
    return bool(events) and all(e.dummy for e in events)


def own_name(call: f.Call | None, events: Iterable[Event]) -> str:
    """What a module is called where a method of it is called that runs the module itself; "" for other calls."""
    base = call.func.base if call is not None and type(call.func) is f.Attr else None
    name = last_name(base)
    if name in ("", ITSELF, "super") or not any(e.op == "forward" and e.channel == ITSELF for e in events):
        return ""
    return name


def _output(arguments: Arguments) -> Value:
    """What a forward returns is local data if what goes in is."""
    data: Divergence | None = None
    for value in arguments.values:
        data = worse(data, value.data)
    return Value(data=data, deps=NO_DEPS.union(*(made_of(v.deps) for v in arguments.values)))


def generated(frame: Frame, name: str, arguments: Arguments) -> Value:
    """The output of a method of a module; generated sequences are as long as the rank's own longest one."""
    output = _output(arguments)
    data = output.data
    if name != "generate":
        return output
    if data is None and output.deps:  # callers know whether these are the rank's own prompts
        by = only(output.deps, DATA, MADE)
        return Value(deps=output.deps, shape_deps=by, uneven_last=True)
    if data is None:
        note = f"`{shown(arguments.expr.func)}` continues the rank's own prompts"
        data = frame.source(DP, "data", arguments.expr.pos, note, Confidence.MEDIUM)
    note = f"`{shown(arguments.expr.func)}` stops at a length that the local batch decides"
    shape = data.then(frame.step("flow", arguments.expr.pos, note)).at_most(Confidence.MEDIUM)
    return Value(data=data, shape=shape, uneven_last=True)


#: what scales a loss that it is given, and runs the backward pass of it, by its name
_TAKES_LOSS = re.compile(r"(?:^|_)optim(?:izer)?$")


def backward(frame: Frame, receiver: Value, arguments: Arguments) -> None:
    """`loss.backward()` of a loss that this rank computed from its own data, or `optimizer.backward(loss)`, in a
    project that wraps modules."""
    func = arguments.expr.func
    given = type(func) is f.Attr and _TAKES_LOSS.search(last_name(func.base)) is not None
    _pass_back(frame, arguments.values[0] if given and arguments.values else receiver, arguments)


def scaled(frame: Frame, arguments: Arguments) -> bool:
    """`loss_scaler(loss, optimizer, ...)` of an object of which nothing is known: it runs the backward pass and steps.

    https://github.com/huggingface/pytorch-image-models/blob/main/timm/utils/cuda.py
    """
    func, args = arguments.expr.func, arguments.expr.args
    if len(args) < 2 or not _SCALES.search(last_name(func)) or not _TAKES_LOSS.search(last_name(args[1])):
        return False
    _pass_back(frame, arguments.positional[0], arguments)
    return True


_SCALES = re.compile(r"(?:^|_)scaler$")


def _pass_back(frame: Frame, loss: Value, arguments: Arguments) -> None:
    wrapped = loss.reach is not None and any(_is_wrapped_here(frame, output) for output in loss.reach.outputs)
    if loss.data is None and loss.divergence is None and not wrapped and not _is_handed_on(frame, loss):
        return
    if not frame.analysis.sharding.reduces_gradients:
        return
    partly_used.at_backward(frame, loss, arguments.expr.pos)
    note = f"`{shown(arguments.expr.func)}` reduces the gradients over the data-parallel ranks"
    pos = arguments.expr.pos
    around = frame.module.functions.get(frame.function.parent or "") if frame.function is not None else None
    own = any(f is not None and frame.analysis.bodies.once(leaves.only, f.body) for f in (frame.function, around))
    alone = own or of_one_process(frame.analysis, frame.module) or not _is_wrapped_nearby(frame)
    alone = (
        alone
        or over_devices.spreads_itself(frame.analysis, frame.self_class)
        or built_here.is_bare(frame, loss, arguments.expr.func)
    )
    confidence = Confidence.LOW if alone else Confidence.MEDIUM
    event = Event("backward", DP, "", frame.module.path, pos, confidence, True, note, wrapped=wrapped)
    frame.emit(event)
    if ranks_meet(event):
        frame.files.collective(frame.conditions)


def _is_wrapped_here(frame: Frame, output: str) -> bool:
    """Whether a function has seen the module wrapped that puts out something, by its name or as its attribute."""
    name = output.lstrip("=").partition("#")[0].rstrip("~")
    value = frame.read(name)
    if value is None and frame.self_class is not None and frame.self_name and name.isidentifier():
        own = f.Name(frame.self_name, (frame.line, 1, frame.line, 1))
        with frame.recording():
            value = frame.eval(f.Attr(own, name, own.pos))
    return value is not None and is_wrapped(frame.analysis, value)


def _is_handed_on(frame: Frame, loss: Value) -> bool:
    """Whether a helper runs the backward pass of a loss that it is given: of this rank's batch, as any loss is."""
    function = frame.function
    names = {p.name for p in function.parameters} if function is not None else set()
    kept = (name for name, how in loss.deps if how in (FLOWS, *HOLDS))  # `scaler.scale(loss)`, too
    return any(name in names and _GIVEN_LOSS.fullmatch(name) for name in kept)


_GIVEN_LOSS = re.compile(r"(\w+_)?loss(es)?")


def ranks_meet(event: Event) -> bool:
    """Whether ranks meet in an event, as far as is known: a forward gathers only if the module is in parts, gradients
    of what is wrapped are reduced however it is."""
    return (not event.hidden or event.op == "backward") and event.confidence > Confidence.LOW


def _trains_alone(frame: Frame) -> bool:
    """Whether a function, no module's own, stands in a file that runs backward passes which nobody shares: what it
    trains is wrapped nowhere."""
    return not frame.in_module and frame.module.mentions_any(_BACKWARD) and not _is_wrapped_nearby(frame)


_BACKWARD = frozenset({"backward"})


def _is_wrapped_nearby(frame: Frame) -> bool:
    """Whether some file that works together with this one wraps modules, or one of a class whose method this is."""
    sharding, names = frame.analysis.sharding, frame.analysis.names
    classes = names.mro(frame.self_class) if frame.self_class is not None else ()
    own = frame.module.path
    bases = dict.fromkeys(c.module.path for c in classes if c.module.path != own)
    return sharding.is_with_wraps(own) or any(sharding.is_with_wraps(own, base) for base in bases)


def _is_in_one(frame: Frame, owner: ClassInfo, attribute: str) -> bool:
    """Whether a part of a module is gathered with the whole of it, and does not gather anything."""
    return frame.in_module and frame.analysis.sharding.is_in_one(owner, attribute)


def by_name(frame: Frame, receiver: Value, arguments: Arguments) -> Value | None:
    """Forwards that only a name gives away: `model(**batch)`, `self.visual(...)`, a submodule of a library's module."""
    func = arguments.expr.func
    sharding = frame.analysis.sharding
    name = last_name(func)
    if not name:
        return None
    if frame.self_class is not None and frame.analysis.is_of_another_framework(frame.self_class):
        return None
    if receiver.module and type(func) is f.Attr and not runs_nothing(name):
        owner = frame.self_class
        unknown = _unknown(frame, func)
        confidence = unknown if owner is None else sharding.of_part(owner, last_name(func.base)) or unknown
        if owner is not None and _is_in_one(frame, owner, last_name(func.base)):
            confidence = None
        if confidence is None:
            return None
        emit(frame, arguments, confidence, cls="" if owner is None else owner.id)
        result = generated(frame, name, arguments)
        if _is_beside(frame, func):
            return result
        return participation.of_forward(frame, channel(arguments), arguments, result)
    if frame.models.convention("module", name) is None or receiver.types or receiver.data is not None:
        return None
    owner = frame.self_class if frame.in_module and type(func) is f.Attr else None
    own = None if owner is None else sharding.of_part(owner, name)
    unknown = _unknown(frame, func)
    sure = own if own is not None and own > (unknown or Confidence.LOW) else unknown
    if owner is not None and _is_in_one(frame, owner, name):
        sure = None
    if not arguments.values or (sure is None and not frame.gradients):
        return None
    if sure is not None:  # under DDP alone there is a backward to share, and no forward
        emit(frame, arguments, sure, cls=owner.id if owner is not None and sure is own else "")
    result = _output(arguments)
    trains_nothing = _attends(arguments.expr) or _is_beside(frame, func)
    return result if trains_nothing else participation.of_forward(frame, name, arguments, result)
