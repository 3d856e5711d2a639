"""A group that a function was given, and that one of its collectives leaves out.

Without a group a collective runs over all ranks, while only the members of the group are here. That is visible in two
ways: the function has a parameter for the group, uses it elsewhere (or nowhere), and not at this call, nor at one of a
function that takes it under the same name; or the buffers of a gather are as many as the group has ranks, be they
tensors of their own or parts of one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence
from ferrule_lint.models.types import CallModel
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import atoms
from ferrule_lint.semantics.domain.dependences import PRESENT
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, variables
from ferrule_lint.semantics.domain.trace import CallTerm, Event, parts
from ferrule_lint.semantics.groups import all_ranks, never_given
from ferrule_lint.semantics.groups.axes import names_group
from ferrule_lint.semantics.groups.counted_ranks import COUNTED, GATHERS, group_parameters
from ferrule_lint.semantics.project.entities import External, FunctionInfo, ModuleInfo
from ferrule_lint.semantics.walk.frame import CallIssue

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

#: calls that ask about a group and do not run over it
_ASKS = frozenset("get_rank get_world_size get_group_rank get_global_rank get_process_group_ranks get_backend".split())
_WARNS = frozenset("warn warning warn_once warning_once".split())
_NOWHERE: f.Pos = (0, 0, 0, 0)
_MEETINGS = ("barrier", "monitored_barrier")


def collective(frame: Frame, model: CallModel, arguments: Arguments, event: Event) -> None:
    """An issue at a collective over all ranks that leaves out the group it is about."""
    if frame.light or model.group is None or event.axes != WORLD or event.p2p or arguments.is_open or model.hidden:
        return
    if arguments.expression(model.group.name, model.group.position) is not None or event.op in _MEETINGS:
        return
    if _is_made_for_one(frame, arguments.expr.func):
        return
    if event.op in COUNTED and model.makes_uniform:
        slots = model.makes_uniform[0]
        group = COUNTED[event.op](frame, arguments.expression(slots.name, slots.position), 0)
        if group:
            gets = "as many buffers" if event.op in GATHERS else "a buffer for as many ranks"
            message = f"`{event.op}` runs over all ranks, but gets {gets} as `{group}` has: pass the group"
            _issue(frame, arguments.expr.pos, group, event, message)
            return
    name = next((n for n in group_parameters(frame) if _is_meant(frame, n)), None)
    if name is not None and not _is_for_all_ranks(frame, name):
        message = f"`{event.op}` runs over all ranks, but this function was given `{name}`: pass it on"
        _issue(frame, arguments.expr.pos, name, event, message)


def _is_made_for_one(frame: Frame, func: f.Expr) -> bool:
    """Whether a method's receiver was made for a group that the function was given: `Wrapper(group).all_gather(x)`."""
    if type(func) is not f.Attr:
        return False
    made = definition(frame, func.base)
    given = frozenset(group_parameters(frame))
    return type(made) is f.Call and not given.isdisjoint(variables(made))


def forwarded(frame: Frame, function: FunctionInfo, bound: Mapping[str, Value], call: f.Call | None) -> None:
    """An issue at a call of a project function that leaves out the group which the caller was given."""
    if call is None or frame.light or any(k is None for k, _ in call.keywords):
        return
    for name in group_parameters(frame):
        parameter = next((p for p in function.parameters if p.name == name), None)
        if parameter is None or type(parameter.default) is not f.Const:
            continue
        default, value = parameter.default.text, bound.get(name)
        if value is None or value.const != default or any(k == name for k, _ in call.keywords):
            continue
        if not _runs_over(frame, function, name) or not _is_meant(frame, name) or _is_for_all_ranks(frame, name):
            continue
        event = _an_event(frame, function, default)
        if event is not None:
            over = "all ranks" if default == "None" else f"its default group {default}"
            message = f"`{function.name}` runs over {over} here, but this function was given `{name}`: pass it on"
            _issue(frame, call.pos, name, event, message)


def _is_meant(frame: Frame, name: str) -> bool:
    """Whether the function communicates over its parameter elsewhere, and this is no place where it has none."""
    assert frame.function is not None
    for formula in frame.conditions:
        if any((name, PRESENT) in atom.deps or name in atom.key for atom in atoms(formula)):
            return False
    value = frame.env.get(name)
    if value is None or value.const == "None" or frame.version(name):
        return False
    if _runs_over(frame, frame.function, name):
        return True
    read = frame.analysis.bodies.once(_names, frame.function.body)
    return name not in read and not _is_given_up(frame.function, name)


def _is_for_all_ranks(frame: Frame, name: str) -> bool:
    """Whether every call in the project hands None on for the function's group, or one of all ranks: another back end's
    (`new_group(backend="gloo")`)."""
    if frame.function is None:
        return False
    if never_given.is_always_none(frame.analysis, frame.function, name):
        return True
    return all_ranks.are_in(frame, f.Name(name, _NOWHERE))


def _names(body: f.Body) -> frozenset[str]:
    return frozenset(node.id for node in walk(body) if type(node) is f.Name)


def _is_given_up(function: FunctionInfo, name: str) -> bool:
    """Whether a function warns its callers that a parameter does nothing any more: "`group` is deprecated"."""
    said = re.compile(rf"\b{re.escape(name)}\b.*\b(deprecated|ignored|unused|not (used|supported))\b", re.DOTALL)
    warnings = (call for call in function.calls if last_name(call.func) in _WARNS)
    return any(said.search(a.text) for call in warnings for a in call.args if type(a) is f.Const)


def _runs_over(frame: Frame, function: FunctionInfo, name: str) -> bool:
    """Whether a name is passed as a group to something that is not just asking about it."""
    for call in function.calls:
        if last_name(call.func) in _ASKS:
            continue
        if any(names_group(k) and type(v) is f.Name and v.id == name for k, v in call.keywords if k is not None):
            return True
        place = next((i for i, a in enumerate(call.args) if type(a) is f.Name and a.id == name), None)
        if place is not None and _takes_group(frame, function.module, call, place):
            return True
    return False


def _takes_group(frame: Frame, module: ModuleInfo, call: f.Call, place: int) -> bool:
    """Whether a call takes a group at a place among its arguments: a collective, or a function of the project."""
    entity = frame.analysis.names.resolve(call.func, module)
    if isinstance(entity, FunctionInfo):
        normal = [p for p in entity.parameters if p.kind == "normal"]
        return place < len(normal) and names_group(normal[place].name) and not _only_asks(entity, normal[place].name)
    model = frame.models.call(entity.dotted) if isinstance(entity, External) else None
    return model is not None and model.event is not None and model.group is not None and model.group.position == place


def _only_asks(function: FunctionInfo, name: str) -> bool:
    """Whether a function does no more with a group than to ask about it."""
    given = ((c, a) for c in function.calls for a in (*c.args, *(v for _, v in c.keywords)))
    return all(last_name(c.func) in _ASKS for c, a in given if type(a) is f.Name and a.id == name)


def _an_event(frame: Frame, function: FunctionInfo, default: str) -> Event | None:
    """What a callee issues over its default group (None: all ranks): read off its summary, or off this function where
    it calls itself."""
    stack = list(frame.terms)
    if function is not frame.function:
        stack = [t for t in frame.terms[-1:] if type(t) is CallTerm and t.summary.origin is function.origin]
    while stack:
        term = stack.pop(0)
        if type(term) is Event and term.op not in _MEETINGS:
            return term
        if type(term) is CallTerm:
            found = [e for e in term.summary.events if e.op not in _MEETINGS]
            found = [e for e in found if e.axes == WORLD or default != "None"]
            if found:
                return found[0]
        stack.extend(parts(term))
    return None


def _issue(frame: Frame, pos: f.Pos, group: str, event: Event, message: str) -> None:
    note = f"the ranks of `{group}` are here, the others may be elsewhere"
    divergence = frame.source(WORLD, "rank", pos, note, Confidence.MEDIUM, member=True)
    frame.issues.append(CallIssue("FER403", pos, divergence, event, message))
