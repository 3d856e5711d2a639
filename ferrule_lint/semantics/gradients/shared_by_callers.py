"""What a function hands back of one pipeline stage, and a caller brings to the others.

A step that a class leaves to those who inherit from it is called by the base class, which may well do so for all of
them: `loss = self.forward_backward(batch)`, `all_reduce(loss, group=pp_group)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.axes import WITHIN_DP, Axes
from ferrule_lint.semantics.domain.text import last_name, place_name, render
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

WITHIN_A_STAGE: Axes = WITHIN_DP | {"tp", "cp", "ep"}
#: calls that, by their names, may bring a value to the other stages
SHARES = re.compile(r"broadcast|bcast|sync|share|send|gather|reduce|scatter", re.IGNORECASE)


def is_shared(frame: Frame) -> bool:
    """Whether some caller of the function shares what it gets, and not within the stages only."""
    function = frame.function
    if function is None:
        return False
    for module in frame.analysis.names.mentioning(function.name):
        if is_test(module.path):
            continue
        for owner, calls in module.calls():
            named = (call for call in calls if last_name(call.func) == function.name)
            if owner is not None and any(
                means(frame.analysis, function, module, owner, call) and _shares(frame, owner.body, call)
                for call in named
            ):
                return True
    return False


def means(analysis: Analysis, function: FunctionInfo, module: ModuleInfo, owner: FunctionInfo, call: f.Call) -> bool:
    """Whether a call means this function: by its name, or on an instance of its own class or of one above or below."""
    names = analysis.names
    if function.owner is None:
        return names.resolve(call.func, module) is function.origin
    own = owner.parameters[0].name if owner.parameters and owner.owner is not None else ""
    if type(call.func) is not f.Attr or not own or place_name(call.func.base) != own:
        return False
    caller, method = module.classes.get(owner.owner or ""), function.module.classes.get(function.owner)
    if caller is None or method is None:
        return False
    return caller in names.mro(method) or method in names.mro(caller)


def _shares(frame: Frame, body: f.Body, call: f.Call) -> bool:
    """Whether a call below takes what was worked out of the result of this one to all stages, by its name."""
    names: set[str] = set()
    for s in sorted(statements(body), key=lambda s: s.line):
        if s.line < call.pos[0]:
            continue
        if names and any(_takes(frame, node, names) for node in walk(s) if type(node) is f.Call):
            return True
        if type(s) is f.Assign and s.value is not None and _is_made_of(s.value, names, call):
            names.update(name for target in s.targets for name in _names(target))
    return False


def _takes(frame: Frame, call: f.Call, names: set[str]) -> bool:
    if not SHARES.search(last_name(call.func)):
        return False
    group = next((value for key, value in call.keywords if key == "group"), None)
    axes = frame.axes_in(render(group)) if group is not None else None
    if axes is not None and axes <= WITHIN_A_STAGE:
        return False
    given = walk((*call.args, *(value for _, value in call.keywords)))
    return any(type(node) is f.Name and node.id in names for node in given)


def _is_made_of(expr: f.Expr, names: set[str], call: f.Call) -> bool:
    return any(
        (type(node) is f.Call and node.pos == call.pos) or (type(node) is f.Name and node.id in names)
        for node in walk(expr)
    )


def _names(target: f.Expr) -> Iterator[str]:
    if type(target) is f.Name:
        yield target.id
    elif type(target) is f.Sequence:
        for element in target.elements:
            yield from _names(element)
