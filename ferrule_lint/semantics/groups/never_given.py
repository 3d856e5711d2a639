"""Groups that a function could be given, and that nobody in the project does: `def gather(data, dst=0, group=None)`.

Then it works on all ranks, where a place in the group and a rank of the job are the same number. So it is where all
calls hand on None, a parameter of their own that nobody gives either, or a variable of the file that is only ever None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.domain.assigned import bound
from ferrule_lint.semantics.domain.text import is_open, place_name
from ferrule_lint.semantics.project import options
from ferrule_lint.semantics.project.begun import targets_of
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.walk.frame import Frame

_NONE = f.Const("None")
#: functions that hand a parameter on to one another
_DEEPEST = 3


def is_left_out(frame: Frame, group: f.Expr) -> bool:
    """Whether a group is a parameter with None for a default that no call leaves anything else in, and there are
    calls."""
    function = frame.function
    if function is None or function.owner is not None or function.parent is not None or type(group) is not f.Name:
        return False
    return options.is_left_out(frame.analysis, function, group.id, (_NONE,))


def stays_none(frame: Frame, group: f.Expr) -> bool:
    """Whether a group is a parameter, or an attribute that keeps one of the constructor, which is None for want of
    another, and which nobody in the project gives but maybe its tests: `def reduce(x, group=None)`."""
    function, info = frame.function, frame.self_class
    if type(group) is f.Attr and type(group.base) is f.Name and group.base.id == frame.self_name and info is not None:
        return options.is_off(frame.analysis, info, group.attr, by_tests=False)
    if function is None or function.parent is not None or type(group) is not f.Name or frame.version(group.id):
        return False
    return options.is_left_out(frame.analysis, function, group.id, (_NONE,), by_tests=False)


def is_never_set(analysis: Analysis, name: str) -> bool:
    """Whether the whole project puts nothing but None into attributes of a name, of whatever object, and does so."""
    return only_constant(analysis, name) == _NONE


def only_constant(analysis: Analysis, name: str) -> f.Const | None:
    """The one constant that the whole project puts into attributes of a name, of whatever object."""
    return analysis.only_constants.find(name, lambda: _only_constant(analysis, name))


def _only_constant(analysis: Analysis, name: str) -> f.Const | None:
    found: f.Const | None = None
    for module in analysis.names.mentioning(name):
        bodies = (module.body, *(function.body for function in module.functions.values()))
        for s in (s for body in bodies for s in statements(body)):
            if not any(type(t) is f.Attr and t.attr == name for t in targets_of(s)):
                continue
            if type(s) is not f.Assign or type(s.value) is not f.Const or s.value != (found or s.value):
                return None
            found = s.value
        if module.calls_named("setattr") or any(name in info.attributes for info in module.classes.values()):
            return None  # by whatever name, or by the constructor of a data class
    return found


def is_always_none(
    analysis: Analysis, function: FunctionInfo, name: str, depth: int = _DEEPEST, in_words: bool = True
) -> bool:
    """Whether all calls of a function outside of tests, and there are some, hand None on for a parameter; `in_words`:
    who leaves it at its default may only not have come to it yet, so that one of them has to say so."""
    place = next((i for i, p in enumerate(function.parameters) if p.name == name), None)
    if place is None or function.parent is not None or depth <= 0:
        return False
    parameter = function.parameters[place]
    at = place - (function.owner is not None and not function.is_static)
    called = said = False
    for module, caller, call in options.calls_of(analysis, function):
        if is_test(module.path):
            continue
        if is_open(call):
            return False
        value = next((v for k, v in call.keywords if k == name), None)
        if value is None and parameter.kind == "normal" and at < len(call.args):
            value = call.args[at]
        if not _is_none(analysis, module, caller, parameter.default if value is None else value, depth):
            return False
        # a method of an unknown object may only be called alike
        of_it = function.owner is not None or analysis.names.resolve(call.func, module) is not None
        called, said = called or of_it, said or (of_it and value is not None)
    return said if in_words else called


def _is_none(
    analysis: Analysis, module: ModuleInfo, caller: FunctionInfo | None, value: f.Expr | None, depth: int
) -> bool:
    if value == _NONE:
        return True
    if type(value) is not f.Name:
        return False
    if caller is not None:
        if value.id in bound(caller.body):
            return False
        if any(p.name == value.id for p in caller.parameters):
            return is_always_none(analysis, caller, value.id, depth - 1, in_words=False)
    return _is_only_none(module, value.id)


def _is_only_none(module: ModuleInfo, name: str) -> bool:
    """Whether a variable of a file gets None at its top level, and nothing else anywhere in the file."""
    assigned = [s.value for s in nodes(module.body, f.Assign) if any(place_name(t) == name for t in s.targets)]
    if not assigned or name in module.imports or module.rebinders(name):
        return False
    return all(value == _NONE for value in assigned) and bound(module.body).count(name) == len(assigned)
