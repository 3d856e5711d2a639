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
from ferrule_lint.semantics.domain.targets import IN_DDP
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.gradients import flow_by_name, uses_of_wrapper
from ferrule_lint.semantics.gradients.gradient_order import SYNC
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.walk.holders import FULL

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: methods that, by their names, have no parameters to train
_NO_PARAMETERS = re.compile(
    r"loss|crit|metric|accuracy|sample|generate|decode_latent|clip_|update|schedule|to_|log_|ema"
)
#: and those that are there to be trained by
_STEP = re.compile(r"(train|training)_(step|batch|forward)|forward(_\w+)?")
#: models that, by their names, are not trained
_NOT_TRAINED = re.compile(r"(^|_)(teacher|ema|target|ref|reference|old|frozen|momentum)(_|$)")
#: who makes DDP ready, or reduces the gradients, by hand
_BY_HAND = frozenset(
    {"prepare_for_backward", "average_gradients", "sync_gradients", "allreduce_grads", "all_reduce_grads"}
)


#: functions that hand back what others have given them
_DEEPEST = 2


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
        trained = _STEP.fullmatch(func.attr) or not (runs_nothing(func.attr) or _NO_PARAMETERS.search(func.attr))
        if not trained or not (call.args or call.keywords):
            return ""
        func = func.base
    return place_name(func.base) if type(func) is f.Attr and func.attr == "module" else ""


def _through(frame: Frame, call: f.Call) -> Iterator[_Candidate]:
    target = uses_of_wrapper.callee(frame.analysis, frame.module, frame.function, call)
    if target is None or target is frame.function:
        return
    made = _handed_back(frame.analysis, target, 0)
    for name, argument in uses_of_wrapper.bound(target, call) if made else ():
        if name in made:
            yield from (_Candidate(given, call, *made[name]) for given in uses_of_wrapper.places(argument))
    for place, here in _own_attributes(frame, call, target).items() if made else ():
        if (run := made.get(place)) is not None:
            path, node = run
            yield _Candidate(here, call, path, node, (path, node.pos[0], node.pos[1]))


def _handed_back(analysis: Analysis, function: FunctionInfo, depth: int) -> dict[str, tuple[str, f.Call]]:
    """The places, as a function has them, behind which it runs what it hands back the result of, in calls of others,
    too: each with the call that runs it, and the file of that."""
    found: dict[str, tuple[str, f.Call]] = {}
    if function.turns_gradients_off or not function.module.mentions_any(_MODULE):
        return found
    for call in function.calls:
        runs: dict[str, tuple[str, f.Call]] = {}
        if place := run_behind(call):
            runs[place] = function.module.path, call
        elif depth < _DEEPEST and (call.args or call.keywords):
            target = uses_of_wrapper.callee(analysis, function.module, function, call)
            made = (
                _handed_back(analysis, target, depth + 1)
                if target is not None and target is not function.origin
                else {}
            )
            for name, argument in uses_of_wrapper.bound(target, call) if target is not None and made else ():
                if name in made:
                    runs.update(dict.fromkeys(uses_of_wrapper.places(argument), made[name]))
        if runs and flow_by_name.to_return(function.body, call.pos):
            found |= runs
    return found


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
    if function is None or all(p.name != place for p in function.parameters):
        return None
    analysis = frame.analysis
    for module, caller, call in _calls(analysis, function):
        argument = dict(uses_of_wrapper.bound(function, call)).get(place)
        for given in uses_of_wrapper.places(argument) if argument is not None else ():
            if _holds_wrapper(analysis, module, caller, given):
                behind = uses_of_wrapper.only_behind(analysis, module, caller, given)
                return (module.path, call.pos[0], call.pos[1]) if behind else None
    return None


def _holds_wrapper(analysis: Analysis, module: ModuleInfo, caller: FunctionInfo | None, place: str) -> bool:
    """Whether a place in a function that calls another, or at the top level of a file, holds a module in DDP."""
    if caller is None:
        return place in analysis.module_frame(module).in_ddp
    known = analysis.frame_of(caller)
    if known is not None and place in known[1].in_ddp:
        return True
    owner = module.classes.get(caller.owner or "")
    root, _, attribute = place.partition(".")
    if owner is None or not attribute or "." in attribute or root != caller.parameters[0].name:
        return False
    held = analysis.holders.attribute(owner, attribute, FULL)
    return held is not None and held.external == IN_DDP


def _is_at(node: object, place: str) -> bool:
    return type(node) in (f.Name, f.Attr) and place_name(node) == place  # type: ignore[arg-type]


def _calls(analysis: Analysis, function: FunctionInfo) -> Iterator[tuple[ModuleInfo, FunctionInfo | None, f.Call]]:
    for module in analysis.names.mentioning(function.name):
        if not is_test(module.path):
            for caller, calls in module.calls():
                for call in calls:
                    named = last_name(call.func) == function.name
                    if named and uses_of_wrapper.callee(analysis, module, caller, call) is function.origin:
                        yield module, caller, call
