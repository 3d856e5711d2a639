"""Groups that a function is handed by its callers: `share(x, group=mesh["tp"].get_group())`.

Of `def share(x, src=0, group=None)` only the callers tell that the group is a part of the job, and that there are
others like it; so they do of what a constructor keeps (`self.group = group`). One caller that hands such a group over
is enough: the root is a member of one of the groups then, whatever the other callers pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.domain.text import called_name, last_name, place_name, variables
from ferrule_lint.semantics.project import options
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.at_place import WatchingFrame
    from ferrule_lint.semantics.walk.frame import Frame

#: calls of one function that are looked at
MOST_CALLS = 16
#: functions that hand a group on, one to the other
_DEEPEST = 3
#: callers are gone through for what they hold, and not for what they issue
_LAYER = 1
_NONE = f.Const("None")


class Handed(NamedTuple):
    """A group as a caller hands it over."""

    #: the caller, gone through to the end
    frame: WatchingFrame
    call: f.Call
    group: f.Expr
    #: what the same call passes for the root; None if it leaves that at its default, or that is no parameter
    root: f.Expr | None


def handed(frame: Frame, group: f.Expr, root: str, accepts: Callable[[Handed], bool]) -> Handed | None:
    """The first way in which a group is handed to this function, or to the constructor of its class, that is accepted;
    `root`: the parameter of this function that is the root, if it is one."""
    function = frame.function
    if function is None or is_test(frame.module.path):
        return None
    group = _of_mesh(frame, function, group)
    given_to: FunctionInfo | None = function
    parameter = _parameter(frame.analysis, function, place_name(group))
    if type(group) is f.Attr:
        given_to, parameter = _kept_by(frame, group)
    if given_to is None or not parameter:
        return None
    root = root if given_to is function else ""
    return next(filter(accepts, _given(frame, given_to, parameter, root, _DEEPEST)), None)


def _of_mesh(frame: Frame, function: FunctionInfo, group: f.Expr) -> f.Expr:
    """The mesh of one dimension whose group it is (`mesh.get_group()`, by itself or under a name), else the group."""
    made = group
    if type(group) is f.Name and len(values := frame.analysis.bodies.assigned(function.body, group.id)) == 1:
        made = values[0]
    if type(made) is f.Call and type(made.func) is f.Attr and made.func.attr == "get_group" and not made.args:
        return made.func.base
    return group


def _given(frame: Frame, function: FunctionInfo, name: str, root: str, depth: int) -> Iterator[Handed]:
    analysis, of_method = frame.analysis, function.owner is not None
    for module, caller, call in islice(_calls_of(analysis, function), MOST_CALLS):
        given = options.passed(call, function, of_method, name)
        if given is None or given == _NONE or is_test(module.path) or not _is_of(analysis, function, caller, call):
            continue
        number = options.passed(call, function, of_method, root) if root else None
        yield Handed(analysis.caller(module, caller, _LAYER), call, given, number)
        passed_on = _parameter(analysis, caller, place_name(given)) if caller is not None else ""
        if caller is not None and passed_on and depth:
            for further in _given(frame, caller, passed_on, "", depth - 1):
                yield further._replace(root=number)


def _calls_of(analysis: Analysis, function: FunctionInfo) -> Iterator[options.Site]:
    """The calls of a function; of a constructor those of subclasses as well, and those that their own constructors
    make of it: `super().__init__(parameters, group=group)`."""
    yield from options.calls_of(analysis, function)
    owner = function.module.classes.get(function.owner or "")
    if owner is None or function.name != "__init__":
        return
    for sub in analysis.hierarchy.below(owner):
        own = sub.methods.get("__init__")
        if own is None and analysis.names.method(sub, "__init__") is function.origin:
            for module in analysis.names.mentioning(sub.name):
                calls = module.calls_named(sub.name)
                yield from (
                    (module, by, call) for by, call in calls if analysis.names.resolve(call.func, module) is sub
                )
        for call in nodes(own.body, f.Call) if own is not None else ():
            if _hands_up(call, owner.name):
                yield sub.module, own, call


def _hands_up(call: f.Call, base: str) -> bool:
    """`super().__init__(...)`, or `Base.__init__(self, ...)` of what is passed by keywords."""
    if type(call.func) is not f.Attr or call.func.attr != "__init__":
        return False
    return last_name(call.func.base) == base or called_name(call.func.base) == "super"


def _is_of(analysis: Analysis, function: FunctionInfo, caller: FunctionInfo | None, call: f.Call) -> bool:
    """Whether a call is of this function for sure; a method of another object may only be called alike."""
    if function.owner is None or function.name == "__init__":
        return True
    if type(call.func) is not f.Attr or caller is None or caller.owner is None or not caller.parameters:
        return False
    own, called_on = caller.module.classes.get(caller.owner), place_name(call.func.base)
    return (
        own is not None
        and called_on == caller.parameters[0].name
        and analysis.names.method(own, function.name) is function.origin
    )


def _kept_by(frame: Frame, group: f.Attr) -> tuple[FunctionInfo | None, str]:
    """The constructor that keeps a parameter under an attribute, and the parameter, if nothing else is kept there."""
    info = frame.self_class
    if info is None or place_name(group.base) != frame.self_name:
        return None, ""
    found: list[tuple[FunctionInfo, f.Expr]] = []
    for owner in frame.analysis.names.mro(info):
        for method in owner.methods.values():
            own = method.parameters[0].name if method.parameters and not method.is_static else ""
            values = frame.analysis.bodies.assigned(method.body, f"{own}.{group.attr}") if own else []
            found += [(method, value) for value in values]
    if len(found) != 1 or found[0][0].name != "__init__":
        return None, ""
    constructor, value = found[0]
    return constructor, _parameter(frame.analysis, constructor, place_name(value))


def _parameter(analysis: Analysis, function: FunctionInfo, name: str) -> str:
    """A name, if it is a parameter and gets nothing else but what is made of it, or what stands in for None."""
    if not any(p.name == name and p.kind in ("normal", "keyword") for p in function.parameters):
        return ""
    for value, tests in analysis.bodies.assignments(function.body, name):
        if name not in variables(value) and not any(name in variables(test) for test in tests):
            return ""
    return name
