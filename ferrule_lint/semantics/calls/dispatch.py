"""Calls -> values, events and what they leave in their arguments: which call is whose business, and calls of what the
project defines.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import (
    constructed,
    fixed_flags,
    forwards,
    kept_functions,
    methods,
    modelled,
    passing_on,
    record_makers,
    simulators,
)
from ferrule_lint.semantics.calls.arguments import Arguments
from ferrule_lint.semantics.calls.callbacks import run_callbacks, run_thread
from ferrule_lint.semantics.calls.instantiate import bind_arguments
from ferrule_lint.semantics.calls.outside import model_of_method, of_library, of_method, rank_by_name, unknown_call
from ferrule_lint.semantics.calls.plain_methods import runs_no_module
from ferrule_lint.semantics.control import host_work, registered, work
from ferrule_lint.semantics.data import exchanged, iteration, layout, number_types
from ferrule_lint.semantics.domain.axes import PRIVATE, UNKNOWN_GROUP, WORLD
from ferrule_lint.semantics.domain.conditions import Atom
from ferrule_lint.semantics.domain.dependences import NO_DEPS
from ferrule_lint.semantics.domain.joins import join
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value
from ferrule_lint.semantics.domain.targets import (
    DECORATED,
    ClassTarget,
    ExternalTarget,
    FunctionTarget,
    MethodTarget,
    PartialTarget,
    RecordTarget,
    SeveralTarget,
)
from ferrule_lint.semantics.domain.text import last_name, place_name, render, shown
from ferrule_lint.semantics.domain.trace import CallTerm, Choice
from ferrule_lint.semantics.gradients import gradient_order, meeting, participation
from ferrule_lint.semantics.groups import roots, same_for_all
from ferrule_lint.semantics.groups.axes import GIVES_GROUP
from ferrule_lint.semantics.project import abstract
from ferrule_lint.semantics.project.entities import ClassInfo, by_id
from ferrule_lint.semantics.sources import stated, tokenizers, whole_sets
from ferrule_lint.semantics.sources.files import may_write
from ferrule_lint.semantics.sources.rank_axes import is_world_size
from ferrule_lint.semantics.walk import begun_later, captured, unreachable

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.summary import Summary
    from ferrule_lint.semantics.walk.frame import Frame

_MOST_ALTERNATIVES = 6
#: functions that, by their names, do not shard the module they are given
_LOOKS = re.compile(
    r"(load|save|get|print|log|count|len|next|list|isinstance|hasattr|getattr|id|type|unwrap|freeze)(_|$)"
)


def call(frame: Frame, e: f.Call) -> Value:
    frame.line = e.pos[0]
    if (told := stated.value_of(frame, e)) is not None:
        return told
    writes, meaning = may_write(e), partial(iteration.definition, frame)
    if writes and (path := frame.path_divergence()) is not None and path.kind == "rank":
        frame.files.write(e, meaning, frame.conditions)
    else:
        if writes:
            frame.files.write_by_all(e)
        frame.files.save(e, meaning, frame.conditions)
    e = _in_full(frame, e)
    special = _super_call(frame, e)
    function = special if special is not None else frame.eval(e.func)
    e = _spread(frame, e)
    begun = len(frame.terms)
    positional = tuple([frame.eval(a) for a in e.args])
    keywords: dict[str, Value] = {}
    for name, expr in e.keywords:
        value = frame.eval(expr)
        keywords[name or "**"] = value
    arguments = Arguments(e, positional, keywords)
    if len(frame.terms) > begun:
        begun_later.handed_over(frame, e, function, begun)
    if frame.exchanged and type(function.target) is not ExternalTarget:
        arguments = exchanged.handed_on(frame, arguments)
    if type(e.func) is f.Attr:
        unreachable.of_nothing(frame, e.func)
    if type(function.target) is not FunctionTarget and not _LOOKS.match(last_name(e.func)):
        for expr in e.args:
            seen_by_others(frame, expr)
        for _, expr in e.keywords:
            seen_by_others(frame, expr)
    before, marks = len(frame.terms), len(frame.gradient_marks)
    result = number_types.after_call(e, function, dispatch(frame, function, arguments))
    if (made := layout.of_places(e, function.target, result.layout)) is not result.layout:
        result = result._replace(layout=made)
    if _meets_outside(e, function):
        result = result._replace(group=PRIVATE)
    if len(frame.terms) > before and any(type(t) is CallTerm and _meets(t.summary) for t in frame.terms[before:]):
        frame.files.collective(frame.conditions)
    work.after_call(frame, e, arguments.values, before)
    host_work.at_call(frame, e, before)
    registered.at_call(frame, arguments)
    if len(frame.gradient_marks) == marks:
        gradient_order.of_call(frame, e)
    if frame.gradients:
        receiver = function.target.receiver if type(function.target) is MethodTarget else None
        values = [function if receiver is None else receiver, *arguments.values]
        if len(values) > 1:
            values[1] = meeting.joined(frame, e, values[1])
        if special is not None and type(special.target) is ExternalTarget:
            result = participation.of_super(frame, arguments, result)
        result = participation.after_call(frame, e, result, values)
    return result


def _in_full(frame: Frame, e: f.Call) -> f.Call:
    """The call that `add(x)` is after `add = kept.append`, or `hook(x)` after `hook = partial(note, kept)`: it changes
    what it was made of."""
    if type(e.func) is not f.Name or (made := iteration.definition(frame, e.func)) is e.func:
        return e
    if type(made) is f.Attr and made.attr in captured.FILLS and place_name(made.base):
        return e._replace(func=made)
    if type(made) is not f.Call or last_name(made.func) != "partial" or not made.args:
        return e
    if not all(place_name(x) or type(x) is f.Const for x in (*made.args, *(value for _, value in made.keywords))):
        return e
    later = {name for name, _ in e.keywords}
    keywords = tuple([(name, value) for name, value in made.keywords if name not in later])
    return e._replace(func=made.args[0], args=(*made.args[1:], *e.args), keywords=(*keywords, *e.keywords))


def _spread(frame: Frame, e: f.Call) -> f.Call:
    """`f(*args)` of a tuple that was written out just before: its items are the arguments."""
    if f.Starred not in map(type, e.args):
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
    return any(map(forwards.ranks_meet, summary.events))


def _meets_outside(e: f.Call, function: Value) -> bool:
    """A group for which a rank and a size of its own are given (`init_custom_process_group(rank=0, world_size=3)`):
    whoever makes it meets processes of another program. Under the name of torch's own function, which makes that of the
    job, a function of the project does so that hands a group back."""
    if len(e.keywords) < 2:
        return False
    name, target = last_name(e.func), function.target
    given = {k for k, _ in e.keywords}
    if not {"rank", "world_size"} <= given or _MAKES_GROUP.search(name) is None:
        return False
    return name != _OF_JOB or (type(target) is FunctionTarget and _hands_back(target.function.body))


def _hands_back(body: f.Body) -> bool:
    return any(type(s) is f.Return and s.value not in (None, f.Const("None")) for s in walk(body))


_OF_JOB = "init_process_group"
_MAKES_GROUP = re.compile(r"(init|new|make|create|setup)\w*process_group|communicator$", re.IGNORECASE)


def seen_by_others(frame: Frame, expr: f.Expr | None) -> None:
    """What is passed to a call may be sharded there, and what it is a part of."""
    _seen(frame, expr)
    while (type(expr) is f.Attr and expr.attr not in _NO_MODULES) or type(expr) is f.Subscript:
        expr = expr.base
        _seen(frame, expr)


#: what a model has that is no part of it which could be sharded
_NO_MODULES = frozenset("config generation_config device dtype training name args".split())


def _seen(frame: Frame, expr: f.Expr | None) -> None:
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
    """`super().name(...)`: the next method after the enclosing class in the receiver's order, or after the class that
    `super(Base, self)` names."""
    func = e.func
    if type(func) is not f.Attr or type(func.base) is not f.Call or last_name(func.base.func) != "super":
        return None
    if frame.self_class is None or frame.function is None or frame.self_name is None:
        return None
    owner = frame.module.classes.get(frame.function.owner or "")
    named = frame.analysis.names.resolve(func.base.args[0], frame.module) if len(func.base.args) == 2 else None
    owner = named if isinstance(named, ClassInfo) else owner
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
        return of_library(frame, target.dotted, function, arguments)
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
    if type(target) is RecordTarget:
        return record_makers.made(target, arguments)
    if type(target) is SeveralTarget:
        return _several(frame, target, arguments, function.divergence)
    if type(target) is MethodTarget and target.name == "_replace":
        record = record_makers.replaced(target.receiver, arguments)
        return record or unknown_call(frame, arguments, target.receiver, name="_replace")
    if type(target) is MethodTarget and target.name in methods.COUNTS:
        return methods.size(frame, target, arguments)
    if type(target) is MethodTarget and target.receiver.external is not None:
        model = model_of_method(frame, target.receiver, target.name)
        if model is not None:
            if model.makes:
                run_callbacks(frame, arguments, target.name)
            return modelled.apply(frame, model, arguments, target.receiver, Confidence.parse(model.confidence))
    quiet = type(target) is MethodTarget and (
        forwards.runs_nothing(target.name) or (function.module and runs_no_module(frame, target))
    )
    instance = bool(function.types) or function.module or function.external is not None
    if not quiet and (instance or forwards.is_own_part(frame, function, e.func)):
        value = _call_instance(frame, function, arguments)
        if value is not None:
            return value
    tokens = tokenizers.call(frame, arguments)
    if tokens is not None:
        return tokens
    if forwards.scaled(frame, arguments):
        return UNKNOWN
    if type(target) is MethodTarget:
        return of_method(frame, target, arguments)
    if target is None and not instance and (kept := kept_functions.walked(frame, e)) is not None:
        return dispatch(frame, Value(target=kept), arguments)
    value = forwards.by_name(frame, function, arguments)
    if value is not None:
        return value
    named = rank_by_name(frame, e)
    return named if named is not None else unknown_call(frame, arguments, None)


#: methods of a group that make another one of the same ranks: `pp_group.make_sibling_group()`
_MAKES_ANOTHER = re.compile(r"^(make|new|create|clone|copy)_(?!sub)\w*group$")


# ---------------------------------------------------------------------- inside the project
def _project(frame: Frame, target: FunctionTarget, arguments: Arguments) -> Value:
    e = arguments.expr
    function = target.function
    name = f"{function.module.name}.{function.qualname}"
    model = frame.models.call(name)
    if model is not None and (model.event or model.returns != "unknown" or model.creates_group):
        roots.check(frame, frame.models.canonical(name), arguments)
        same_for_all.check(frame, frame.models.canonical(name), arguments)
        return modelled.apply(frame, model, arguments, target.receiver, Confidence.parse(model.confidence))
    if frame.models.convention("initialized", function.name) is not None:
        return Value(uniform=True, const="True")
    if is_world_size(function.name):
        return Value(uniform=True, world_size=True)
    if unreachable.of_other_arguments(frame, function, e):
        return UNKNOWN
    if (further := passing_on.call(frame, target, arguments)) is not None:
        return dispatch(frame, *further)
    implemented = abstract.call(frame, target, arguments)
    if implemented is None and abstract.is_left_open(function) and abstract.is_any_callable(function):
        handed = unknown_call(frame, arguments, None)
        returned = frame.analysis.annotations.class_of(function.returns, function.module)
        return handed if returned is None or handed.types else handed._replace(types=frozenset({returned}))
    if implemented is None and abstract.is_left_open(function):
        # what is done elsewhere to what it is given is open: it may be reduced
        local = not frame.light and abstract.works_locally(frame, target)
        result = abstract.result(frame, target, arguments) if local else None
        return result or (unknown_call(frame, arguments, None) if local else UNKNOWN)
    made = fixed_flags.of_receiver(frame, target.receiver, e) if target.receiver is not None else None
    value = implemented or frame.analysis.call_function(
        frame, function, made, arguments.positional, arguments.keywords, e.pos,
        call=e, closure=target.closure, raw=target.raw,
    )  # fmt: skip
    if (step := simulators.model_of(frame, function, e, value)) is not None:
        return modelled.apply(frame, step, arguments, target.receiver, Confidence.parse(step.confidence))
    if target.receiver is not None and (shared := iteration.by_name(frame, function.name, target.receiver, arguments)):
        value = value._replace(length=shared.length, multiple=shared.multiple)
    if value.group in (None, UNKNOWN_GROUP) and _MAKES_ANOTHER.search(function.name) and type(e.func) is f.Attr:
        receiver = target.receiver.group if target.receiver is not None else None
        value = value._replace(group=receiver or frame.axes_in(render(e.func.base)) or value.group)
    if value.group in (None, UNKNOWN_GROUP) and GIVES_GROUP.search(function.name):
        # kept in a variable it is the group that it is where it is passed on at once
        value = value._replace(group=frame.axes_in(render(_without_sizes(e, arguments))) or value.group)
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


def _without_sizes(call: f.Call, arguments: Arguments) -> f.Call:
    """A call without what is the number of ranks: `make_group(first, world)` names no axis by that."""
    if arguments.is_open:
        return call
    pairs = zip(call.args, arguments.positional, strict=False)
    named = tuple([(k, v) for k, v in call.keywords if k is None or not arguments.keywords.get(k, UNKNOWN).world_size])
    return call._replace(args=tuple([expr for expr, value in pairs if not value.world_size]), keywords=named)


def _construct(frame: Frame, target: ClassTarget, arguments: Arguments) -> Value:
    info = target.info
    model = frame.models.call(f"{info.module.name}.{info.qualname}")
    if model is not None and model.event:
        modelled.apply(frame, model, arguments, None, Confidence.parse(model.confidence))
    instance = Value(types=frozenset({info}), there=True, unwrapped=frame.analysis.is_module(info))
    if whole_sets.is_told_so(arguments.expr):
        instance = instance._replace(filled=True)  # as many items as there are on each rank
    method = frame.analysis.names.method(info, "__init__")
    given: tuple[tuple[str, Value], ...] = ()
    bound: dict[str, Value] = {}
    if method is not None:
        frame.analysis.call_function(
            frame, method, instance, arguments.positional, arguments.keywords, arguments.expr.pos, call=arguments.expr
        )
        if not frame.light:
            bound = bind_arguments(method, instance, arguments.positional, arguments.keywords, arguments.expr)
            del bound[method.parameters[0].name]
            given = constructed.kept(frame, bound, arguments.expr.pos)
            if not frame.analysis.is_module(info):
                instance = instance._replace(fields=fixed_flags.of_call(frame.analysis, info, bound))
    if frame.analysis.is_module(info):
        return instance._replace(given=given)
    data = next((v.data for v in arguments.values if v.data), None)
    instance = instance._replace(data=data, given=given)
    if frame.light:
        return instance
    run_thread(frame, info, instance, arguments.expr)
    if method is not None:
        return record_makers.with_kept(frame, info, method, instance, bound)
    return record_makers.with_fields(frame, info, instance, arguments)


def _several(frame: Frame, target: SeveralTarget, arguments: Arguments, divergence: Divergence | None) -> Value:
    """One of several callables, which one is not known, or another on each rank: a choice between their events."""
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
        atom = Atom(f"target{i} of {frame.key(e.func)} at {e.pos}", divergence, NO_DEPS)
        trace = (Choice(atom, other, trace, frame.module.path, e.pos, shown(e.func), "dispatch"),)
    frame.terms.extend(trace)
    return join(results)


def _call_instance(frame: Frame, function: Value, arguments: Arguments) -> Value | None:
    """`instance(...)`: a module's forward, or `__call__`."""
    forward = forwards.forward_of_instance(frame, function, arguments, None)
    names = frame.analysis.names
    results: list[Value] = []
    for info in by_id(function.types)[:_MOST_ALTERNATIVES]:
        method = names.called(info)
        if method is None:
            continue
        receiver = function._replace(types=frozenset({info}))
        if abstract.is_left_open(method):
            results.append(_project(frame, FunctionTarget(method, receiver), arguments))
            continue
        result = frame.analysis.call_function(
            frame, method, receiver, arguments.positional, arguments.keywords, arguments.expr.pos, call=arguments.expr
        )
        results.append(result)
    if results:
        value = join(results)
        if forward is not None and forward.data is not None and value.data is None and value.divergence is None:
            value = value._replace(data=forward.data)
        if forward is not None:
            classes = by_id(function.types)
            value = participation.of_forward(frame, forwards.channel(arguments), arguments, value, classes)
        return value
    return forward
