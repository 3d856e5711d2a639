"""Modules in DDP that are run behind their wrapper: `head.module.predict(x)`, where nothing ever calls `head(x)`.

DDP makes the reduction of gradients ready in its own forward. Where that is never called, the hooks of the parameters
do nothing: every rank steps with gradients of its own batch, and the replicas drift apart without a word.

All that is said here is about one function that runs a backward pass: which results of what runs behind a wrapper come
to it, by the names that they are bound to, and what else is done with the wrapper.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.calls.forwards import runs_nothing
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.gradients import flow_by_name, uses_of_wrapper
from ferrule_lint.semantics.gradients.gradient_order import SYNC
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: methods that, by their names, have no parameters to train
_NO_PARAMETERS = re.compile(
    r"loss|crit|metric|accuracy|sample|generate|decode_latent|clip_|update|schedule|to_|log_|ema"
)
#: models that, by their names, are not trained
_NOT_TRAINED = re.compile(r"(^|_)(teacher|ema|target|ref|reference|old|frozen|momentum)(_|$)")
#: who makes DDP ready, or reduces the gradients, by hand
_BY_HAND = frozenset(
    {"prepare_for_backward", "average_gradients", "sync_gradients", "allreduce_grads", "all_reduce_grads"}
)


class Behind(NamedTuple):
    """A call whose result comes to a backward pass, and which runs a module behind its wrapper."""

    #: the wrapper, as it is written here
    wrapper: str
    call: f.Call
    #: the call behind the wrapper, and the file it stands in
    path: str
    run: f.Call
    #: where what the caller passed is a wrapper: (path, line, column)
    wrapped: tuple[str, int, int]
    backward: f.Pos


class _Candidate(NamedTuple):
    """The same, as far as one call tells."""

    wrapper: str
    call: f.Call
    path: str
    run: f.Call
    wrapped: tuple[str, int, int] | None = None


def found(frame: Frame) -> Iterator[Behind]:
    """The calls in a function with a backward pass that run a module behind a wrapper which nothing calls."""
    module, function = frame.module, frame.function
    if any(mark.kind == SYNC for mark in frame.gradient_marks) or module.mentions_any(_BY_HAND):
        return
    if function is not None and function.turns_gradients_off:
        return
    body = module.body if function is None else function.body
    for one in _candidates(frame, body):
        wrapper = one.wrapper
        backward = flow_by_name.to_backward(body, one.call.pos)
        if backward is None or _NOT_TRAINED.search(wrapper):
            continue
        wrapped = one.wrapped or _where_wrapped(frame, wrapper)
        if wrapped is not None and uses_of_wrapper.only_behind(frame.analysis, module, function, wrapper):
            yield Behind(wrapper, one.call, one.path, one.run, wrapped, backward)


def _candidates(frame: Frame, body: f.Body) -> Iterator[_Candidate]:
    """The calls behind a wrapper in a function, and those of functions that hand out what they have made so."""
    for node in walk(body):
        if type(node) is not f.Call:
            continue
        wrapper = run_behind(node)
        if wrapper:
            yield _Candidate(wrapper, node, frame.module.path, node)
        elif node.args or node.keywords:
            yield from _through(frame, node)


def run_behind(call: f.Call) -> str:
    """The `head` of `head.module.predict(x)` and `head.module(x)`; nothing for a call that runs no forward."""
    func = call.func
    if type(func) is f.Attr and func.attr != "module":
        if runs_nothing(func.attr) or _NO_PARAMETERS.search(func.attr) or not (call.args or call.keywords):
            return ""
        func = func.base
    return place_name(func.base) if type(func) is f.Attr and func.attr == "module" else ""


def _through(frame: Frame, call: f.Call) -> Iterator[_Candidate]:
    target = uses_of_wrapper.callee(frame.analysis, frame.module, frame.function, call)
    if target is None or target is frame.function or target.turns_gradients_off:
        return
    if not target.module.mentions_any(_MODULE):
        return
    path = target.module.path
    run = [(place, node) for node in walk(target.body) if type(node) is f.Call and (place := run_behind(node))]
    places = {place: node for place, node in run if flow_by_name.to_return(target.body, node.pos)}
    for name, argument in uses_of_wrapper.bound(target, call) if places else ():
        given = place_name(uses_of_wrapper.of_either(argument))
        if given and name in places:
            yield _Candidate(given, call, path, places[name])
    for place, here in _own_attributes(frame, call, target).items() if places else ():
        if (node := places.get(place)) is not None:
            yield _Candidate(here, call, path, node, (path, node.pos[0], node.pos[1]))


def _own_attributes(frame: Frame, call: f.Call, method: FunctionInfo) -> dict[str, str]:
    """The attributes of the instance that hold modules in DDP, as a method of it that is called here has them, and as
    they are written here."""
    func = call.func
    if method.owner is None or method.is_static or not frame.self_name or type(func) is not f.Attr:
        return {}
    known = frame.analysis.frame_of(method) if place_name(func.base) == frame.self_name else None
    held = known[1].in_ddp if known is not None else ()
    own = f"{method.parameters[0].name}." if method.parameters else "."
    return {place: f"{frame.self_name}.{place[len(own) :]}" for place in held if place.startswith(own)}


_MODULE = frozenset({"module"})


def _where_wrapped(frame: Frame, place: str) -> tuple[str, int, int] | None:
    """Where it can be seen that a place holds a module in DDP: in this function, or in one that passes it."""
    function = frame.function
    if place in frame.in_ddp:
        body = frame.module.body if function is None else function.body
        first = min((node.pos for node in walk(body) if _is_at(node, place)), default=None)  # type: ignore[attr-defined]
        return None if first is None else (frame.module.path, first[0], first[1])
    if function is None or function.owner is not None or all(p.name != place for p in function.parameters):
        return None
    for module, caller, call in _calls(frame.analysis, function):
        argument = dict(uses_of_wrapper.bound(function, call)).get(place)
        given = "" if argument is None else place_name(uses_of_wrapper.of_either(argument))
        if not given:
            continue
        known = frame.analysis.frame_of(caller) if caller is not None else None
        outer = known[1] if known is not None else frame.analysis.module_frame(module) if caller is None else None
        holds = outer is not None and given in outer.in_ddp
        if holds and uses_of_wrapper.only_behind(frame.analysis, module, caller, given):
            return module.path, call.pos[0], call.pos[1]
    return None


def _is_at(node: object, place: str) -> bool:
    return type(node) in (f.Name, f.Attr) and place_name(node) == place  # type: ignore[arg-type]


def _calls(analysis: Analysis, function: FunctionInfo) -> Iterator[tuple[ModuleInfo, FunctionInfo | None, f.Call]]:
    for module in analysis.names.mentioning(function.name):
        if not is_test(module.path):
            for caller, calls in module.calls():
                for call in calls:
                    if last_name(call.func) == function.name and analysis.names.resolve(call.func, module) is function:
                        yield module, caller, call
