"""Calls of the project's own functions: their events, what they return, and what they leave behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import (
    constructed,
    decorators,
    evaluated,
    forwards,
    in_one_piece,
    own_padders,
    passed_classes,
    sharded_only,
    variadic,
)
from ferrule_lint.semantics.calls.instantiate import bind_arguments, contexts_of, instantiate, refuses
from ferrule_lint.semantics.calls.summaries import Context
from ferrule_lint.semantics.control import exceptions, host_work, registered
from ferrule_lint.semantics.divergence import latent
from ferrule_lint.semantics.domain.axes import UNKNOWN_GROUP, WORLD
from ferrule_lint.semantics.domain.conditions import Atom, Formula
from ferrule_lint.semantics.domain.dependences import NO_DEPS, root_of
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value
from ferrule_lint.semantics.domain.summary import Summary
from ferrule_lint.semantics.domain.targets import ClassTarget
from ferrule_lint.semantics.domain.text import called_name, place_name, shown
from ferrule_lint.semantics.domain.trace import CallTerm, Choice
from ferrule_lint.semantics.gradients import gradient_order, through_calls
from ferrule_lint.semantics.groups import group_use
from ferrule_lint.semantics.project import handed_wrapped
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, by_id
from ferrule_lint.semantics.project.options import is_off, passed
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.sources import reduced_in_place, stated
from ferrule_lint.semantics.walk import (
    boxes,
    entered_by_calls,
    given,
    in_place,
    returned,
    set_by_calls,
    sized_by_calls,
    state,
    stepped_within,
)
from ferrule_lint.semantics.walk.frame import Frame

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis


def call_function(
    frame: Frame,
    function: FunctionInfo,
    receiver: Value | None,
    positional: tuple[Value, ...],
    keywords: Mapping[str, Value],
    pos: f.Pos,
    *,
    call: f.Call | None = None,
    closure: Frame | None = None,
    raw: bool = False,
    confidence: Confidence = Confidence.HIGH,
    read: f.Attr | None = None,
) -> Value:
    """The value of a call of a project function; its events go to the caller's trace as one term. Of a property that is
    `read`, nothing says so but the attribute."""
    value = _call(frame, function, receiver, positional, keywords, pos, call, closure, raw, confidence, read)
    return stated.result(frame, function, value, pos) if function.decorators else value


def _call(
    frame: Frame,
    function: FunctionInfo,
    receiver: Value | None,
    positional: tuple[Value, ...],
    keywords: Mapping[str, Value],
    pos: f.Pos,
    call: f.Call | None,
    closure: Frame | None,
    raw: bool,
    confidence: Confidence,
    read: f.Attr | None,
) -> Value:
    if function.decorators and not raw:
        wrapped = decorators.replaced(frame, function, closure)
        if wrapped is not None:
            return call_function(
                frame, wrapped.function, None,
                (*((receiver,) if receiver is not None and not function.is_static else ()), *positional),
                keywords, pos, call=None, closure=wrapped.closure, raw=True, confidence=confidence,
            )  # fmt: skip
    if call is not None and refuses(function, keywords):
        return UNKNOWN
    analysis = frame.analysis
    if (named := variadic.spelled(analysis, function, receiver is not None, call, keywords)) is not None:
        function, call, keywords = named
    bound = bind_arguments(function, receiver, positional, keywords, call)
    info = _receiver_class(analysis, function, receiver)
    if frame.light:
        _reduced_by_own_layer(frame, function, call)
        set_by_calls.after_call(frame, function, info, call)
        sized_by_calls.after_call(frame, function, bound, call)
        if frame.is_unused(call):
            return UNKNOWN  # attribute layers ask for results only
        same = bound.get(name := returned.named_parameter(function))
        if same is not None and not reduced_in_place.is_reduced(analysis, function, name):
            return same
        return analysis.light.call(frame, function, info, bound, closure)
    context = _context(frame, function, bound, call)
    known = analysis.summaries.of(function, context, info, closure, frame.depth + 1)
    if known is None:
        return UNKNOWN
    summary, _ = known
    if summary.busy:
        group_use.forwarded(frame, function, bound, call)
        return UNKNOWN
    own = forwards.own_name(call, summary.events)
    if summary.events and evaluated.runs_evaluated(frame, call):
        summary = analysis.summaries.evaluated(summary)
    guesses = any(e.assumed for e in summary.events)
    if guesses and not all(e.assumed for e in summary.events) and forwards.is_elsewhere(frame):
        summary = analysis.summaries.guessed(summary)
    told = bool(summary.events) and function.traits.tells_workers
    if summary.events and not told and not _is_given_one_piece(frame, summary, call):
        best = max(e.confidence for e in summary.events)
        if all(e.assumed for e in summary.events) and forwards.is_elsewhere(frame):
            best = confidence = Confidence.LOW
        elif (frame.path_divergence() is not None or frame.path_deps()) and _has_nothing_in_parts(frame, summary):
            best = Confidence.LOW
        if (
            info is not None
            and frame.in_module
            and all(map(forwards.is_pass, summary.events))
            and forwards.of_another_model(frame, info)
        ):
            best = Confidence.LOW
        if all(map(forwards.is_pass, summary.events)) and forwards.is_for_other_programs(frame):
            best = Confidence.LOW
        if receiver is not None and forwards.is_copied(frame, receiver, summary.events):
            best = Confidence.LOW
        kept = _runs_once(analysis, function)
        unmet = _unmet(frame, function, bound, pos) if kept else None
        if kept and unmet is None:
            best = Confidence.LOW  # what has been asked for before issues nothing
        # a writer that only the first rank has, beside a module that all have, says nothing of the module
        shared = any(v.absent is None and forwards.is_wrapped(analysis, v) for v in bound.values())
        of_some = not shared and any(v.absent is not None for v in bound.values())
        if of_some and all(e.op == "forward" and e.hidden for e in summary.events):
            best = Confidence.LOW  # what only some ranks have is no model that the others have parts of
        dummy = call is not None and (forwards.stands_in(call) or forwards.runs_stand_in(call, summary.events))
        surely, off = min(confidence, best), frame.no_gradient > 0
        term = CallTerm(summary, frame.module.path, pos, surely, dummy, own, off)
        if unmet is None:
            frame.emit(term)
        else:
            text = shown(call) if call is not None else function.name
            frame.emit(Choice(unmet, (term,), (), frame.module.path, pos, text, "decorator"))
    group_use.forwarded(frame, function, bound, call)
    bound = constructed.bind(frame, summary, receiver, bound)
    asked = f.Call(read, (), (), pos) if read is not None else call
    bound = given.bind(frame, summary, asked, receiver is not None, bound)
    bound = constructed.with_lengths(frame, summary, bound, call, receiver is not None, pos)
    exceptions.at_call(frame, summary, bound, pos)
    host_work.in_callee(frame, summary, pos)
    registered.in_callee(frame, function, receiver, call)
    latent.raise_or_pass_on(frame, summary, bound, pos, confidence, call)
    if not function.is_context_manager:  # what one does on leaving comes after the block
        gradient_order.of_callee(frame, summary.gradient_kinds, call, pos)
    _left_behind(frame, summary, call, receiver)
    _written(frame, summary, call, receiver is not None)
    entered_by_calls.after_call(frame, function, call, receiver is not None)
    given.after_call(frame, summary, call, receiver is not None, bound)
    state.after_call(frame, summary, call, bound)
    set_by_calls.after_call(frame, function, info, call)
    stepped_within.after_call(frame, function)
    if summary.hands_back in bound:
        return _handed_back(bound[summary.hands_back], summary)
    if function.traits.sends_round:
        return UNKNOWN
    made = own_padders.result(frame, function, summary, instantiate(frame, summary, bound, pos))
    return through_calls.under_name(frame, made, own)


def _context(frame: Frame, function: FunctionInfo, bound: Mapping[str, Value], call: f.Call | None) -> Context:
    """What a call fixes of a function's arguments. Tests make objects of all classes with all kinds of them, and what
    they hang on is theirs: constructors are not told apart by it, which took a quarter of the analysis of TRL."""
    if function.name == "__init__" and is_test(frame.module.path) and not is_test(function.module.path):
        return ()
    analysis = frame.analysis
    return (
        *contexts_of(analysis, function, _left_off(frame, function, bound, call), call),
        *passed_classes.of_call(analysis, function, bound),
        *_whole_here(analysis, function, bound),
    )


def _left_off(
    frame: Frame, function: FunctionInfo, bound: Mapping[str, Value], call: f.Call | None
) -> Mapping[str, Value]:
    """What is passed, where a parameter that asks by its name whether there are several processes is handed an option
    of the instance that nobody takes (`draw(points, distributed=self.distributed)`): as it is left, off."""
    analysis, info = frame.analysis, frame.self_class
    if call is None or info is None or not frame.self_name:
        return bound
    for parameter in function.parameters:
        if parameter.name not in bound or analysis.models.convention("initialized", parameter.name) is None:
            continue
        given = passed(call, function, function.owner is not None, parameter.name)
        of_instance = type(given) is f.Attr and place_name(given.base) == frame.self_name
        if of_instance and type(given) is f.Attr and is_off(analysis, info, given.attr, by_tests=False):
            bound = {**bound, parameter.name: Value(uniform=True, const="False")}
    return bound


def _whole_here(analysis: Analysis, function: FunctionInfo, bound: Mapping[str, Value]) -> Context:
    """The modules that are whole at a call, of those that the function runs or hands on: as a test around it tells,
    which callers have sharded under some setting, and a library's, which the caller has just made and not wrapped."""
    whole = [name for name, value in bound.items() if value.unwrapped and value.module]
    told = [
        name
        for name in whole
        if handed_wrapped.wrapper_of(analysis, function, name)
        or (analysis.sharding.unknown is not None and _is_of_library(bound[name]) and name in function.traits.run)
    ]
    return tuple([(name, Value(module=True, unwrapped=True)) for name in told])


def _is_of_library(module: Value) -> bool:
    """Whether nothing is known of a module but a library's class: `AutoModelForCausalLM.from_pretrained(path)`."""
    return module.external is not None and not module.types


def _has_nothing_in_parts(frame: Frame, summary: Summary) -> bool:
    """Whether a call issues nothing unless what it is given is in parts, of which this file never speaks, or with
    which nobody gets here."""
    if sharded_only.has_left(frame) or sharded_only.rules_out(frame) or not sharded_only.speaks_of_parts(frame.module):
        return sharded_only.only_for_sharded(frame.analysis, summary)
    return False


def _is_given_one_piece(frame: Frame, summary: Summary, call: f.Call | None) -> bool:
    """Whether a call issues nothing unless what it is given is in parts, and that is in one piece."""
    if call is None or summary.function is None or not all(e.hidden for e in summary.events):
        return False
    asked = sharded_only.asked_of(frame.analysis, summary)
    if not in_one_piece.all_are(frame, call, summary.function, asked):
        return False
    return sharded_only.only_for_sharded(frame.analysis, summary)


def _runs_once(analysis: Analysis, function: FunctionInfo) -> bool:
    """Whether a function is kept with its result, for what it was given or for an instance (`functools.cache`), and may
    have been asked for before."""
    kept = {called_name(d) for d in function.decorators}
    if "cached_property" in kept:
        return len(_reads(analysis, function.name)) != 1
    if kept.isdisjoint(("cache", "lru_cache")):
        return False
    return bool(function.parameters) or len(_calls(analysis, function.name)) > 1


def _unmet(frame: Frame, function: FunctionInfo, bound: Mapping[str, Value], pos: f.Pos) -> Formula | None:
    """Whether a function that is kept with its result for what it was given runs in a call: where it is given a number
    of the rank's own batch, some ranks have met that before."""
    for name, value in bound.items():
        why = value.divergence
        if why is not None and why.kind == "data" and why.confidence > Confidence.LOW:
            note = f"`{function.name}` answers where this rank has met this `{name}` before"
            return Atom(f"{function.id} is new at {pos}", why.then(frame.step("flow", pos, note)), NO_DEPS)
    return None


def _reads(analysis: Analysis, name: str) -> set[tuple[str, f.Pos]]:
    """The places at which the project asks for an attribute of a name."""
    return {
        (module.path, node.pos)
        for module in analysis.names.mentioning(name)
        for _, body in module.bodies()
        for node in nodes(body, f.Attr)
        if node.attr == name
    }


def _calls(analysis: Analysis, name: str) -> set[tuple[str, f.Pos]]:
    """The places at which the project calls something of a name."""
    return {
        (module.path, call.pos) for module in analysis.names.mentioning(name) for _, call in module.calls_named(name)
    }


def _handed_back(same: Value, summary: Summary) -> Value:
    """What was passed, as it comes back: the same object, of which a list may have got more, or less, on the way."""
    if same.length is not None:
        same = same._replace(length=same.length.at_most(Confidence.LOW))
    return same._replace(unwrapped=False) if summary.hands_back in summary.wraps else same


def _receiver_class(analysis: Analysis, function: FunctionInfo, receiver: Value | None) -> ClassInfo | None:
    owner = function.module.classes.get(function.owner) if function.owner else None
    if receiver is not None and owner is not None:
        if type(receiver.target) is ClassTarget:
            return receiver.target.info
        for info in by_id(receiver.types):
            if owner in analysis.names.mro(info):
                return owner if analysis.hierarchy.has_many_heirs(owner.id) else info
    return owner


def _left_behind(frame: Frame, summary: Summary, call: f.Call | None, receiver: Value | None) -> None:
    """What a call does to the variables that are passed to it."""
    from ferrule_lint.semantics.calls.agreement import make_uniform, own_tensors
    from ferrule_lint.semantics.calls.dispatch import seen_by_others

    function = summary.function
    if call is None or function is None:
        return

    def argument(name: str) -> f.Expr | None:
        return passed(call, function, receiver is not None, name)

    for name in summary.wraps:
        seen_by_others(frame, argument(name))
    for name, wrapper in summary.sharded:
        place = place_name(argument(name))
        known = frame.read(place) if place else None
        if known is not None and known.external is None:
            frame.env[place] = known._replace(module=True, external=wrapper, unwrapped=False)
            if not frame.conditions:
                frame.sharded[place] = wrapper
    boxes.handed_over(frame, call)  # whatever it issues, it may tell the others by other means
    if summary.events:
        in_place.handed_over(frame, call)
        own_tensors(frame, call, summary.events)
    for place, axes in summary.made_uniform.items():
        root = root_of(place)
        if (expr := argument(root)) is not None:
            make_uniform(frame, given.part_of(expr, place[len(root) :]), axes)
    _reduced_by_own_layer(frame, function, call)


def _reduced_by_own_layer(frame: Frame, function: FunctionInfo, call: f.Call | None) -> None:
    """What the ranks agree on by the project's own `all_reduce`, whichever way that takes."""
    from ferrule_lint.semantics.calls.agreement import make_uniform

    name = reduced_in_place.by_own_layer(frame.analysis, function) if call is not None else ""
    expr = passed(call, function, False, name) if name and call is not None else None
    if expr is None or call is None:
        return
    group = passed(call, function, False, "group")
    over_all = group is None or group == f.Const("None")
    make_uniform(frame, expr, WORLD if over_all or group is None else frame.eval(group).group or UNKNOWN_GROUP)


def _written(frame: Frame, summary: Summary, call: f.Call | None, receiver: bool) -> None:
    """At a call: the files that the callee writes, by its arguments."""
    function = summary.function
    if call is None or function is None or not any(summary.written):
        return
    one, every = (
        [e for name in sorted(names) if (e := passed(call, function, receiver, name)) is not None]
        for names in summary.written
    )
    guard = frame.path_divergence()
    frame.files.after_call(one, every, guard is not None and guard.kind == "rank")
