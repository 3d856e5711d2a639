"""Parameters that nobody in the project gives: `def __init__(self, layers, dropout=None)`.

What their default rules out does not happen, as far as the project tells: with `self.dropout = dropout` no layer is
dropped under `if self.dropout is not None`. What is issued there counts all the same, since others may give them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from ferrule_lint.facts import types as f
from ferrule_lint.facts.parts import said
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: a call with its file and the function around it
Site: TypeAlias = tuple[ModuleInfo, FunctionInfo | None, f.Call]

_OFF = (f.Const("None"), f.Const("False"))


def is_left_out(
    analysis: Analysis, function: FunctionInfo, name: str, defaults: tuple[f.Expr, ...] = _OFF, by_tests: bool = True
) -> bool:
    """Whether a parameter with such a default is given nothing else by any call, and there are calls. A function that
    nobody calls is one for other projects; so is one that only tests call, unless they count (`by_tests`)."""
    places = [i for i, p in enumerate(function.parameters) if p.name == name and p.default in defaults]
    if not places or function.parameters[places[0]].kind not in ("normal", "keyword"):
        return False
    called = False
    for module, _, call in calls_of(analysis, function):
        if _may_give(call, function, name, places[0]):
            return False
        called = called or by_tests or not is_test(module.path)
    return called


def is_off(analysis: Analysis, info: ClassInfo, name: str, by_tests: bool = True) -> bool:
    """Whether an attribute of a class holds None or False as far as the project tells: it gets a parameter of the
    constructor that nobody gives, and nothing else."""
    key = f"{info.id} {name} {by_tests}"
    return analysis.options.find(key, lambda: _is_off(analysis, info, name, by_tests), False)


def _is_off(analysis: Analysis, info: ClassInfo, name: str, by_tests: bool) -> bool:
    if analysis.hierarchy.below(info):
        return False
    given: list[tuple[FunctionInfo, f.Expr | None]] = []
    for owner in analysis.names.mro(info):
        for method in owner.methods.values():
            for node in statements(method.body):
                if type(node) is f.Assign and any(type(t) is f.Attr and t.attr == name for t in node.targets):
                    given.append((method, node.value))
    if len(given) != 1:
        return False
    method, value = given[0]
    own = method.name == "__init__" and method.owner == info.qualname
    return own and type(value) is f.Name and is_left_out(analysis, method, value.id, by_tests=by_tests)


def calls_of(analysis: Analysis, function: FunctionInfo) -> list[Site]:
    """The calls of a function in the project, or of the class that it makes, those included that may be of it; each
    with its file and the function around it."""
    return analysis.calls_of.find(function.id, lambda: _calls_of(analysis, function), [])


def calls_outside_tests(analysis: Analysis, function: FunctionInfo) -> list[Site]:
    """The same, but for those that stand in tests."""
    return [site for site in calls_of(analysis, function) if not is_test(site[0].path)]


def _calls_of(analysis: Analysis, function: FunctionInfo) -> list[Site]:
    names, meant = analysis.names, _meant(function)
    found: list[Site] = []
    for module in names.mentioning(meant.name):
        for owner, call in module.calls_named(meant.name):
            if owner is not function.origin and names.resolve(call.func, module) in (meant, None):
                found.append((module, owner, call))
    return found


def said_of_calls(analysis: Analysis, function: str) -> list[str]:
    """What the calls of the function with an id say."""
    called = analysis.names.function_of_id(function)
    by_file: dict[str, list[tuple[FunctionInfo | None, f.Call]]] = {}
    for module, owner, call in calls_of(analysis, called) if called is not None else ():
        by_file.setdefault(module.path, []).append((owner, call))
    lines: list[str] = []
    for path, sites in by_file.items():
        owners = [owner and (owner.id, [p.name for p in owner.parameters]) for owner, _ in sites]
        lines.append(repr((path, owners, said([call for _, call in sites]))))
    return lines


def of_instance(call: f.Call, function: FunctionInfo) -> bool:
    """Whether a call of a method calls the instance: `self.model(x)` runs its `forward`, `stop(x)` its `__call__`."""
    return function.name in ("__call__", "forward") and last_name(call.func) != function.name


def passed(call: f.Call, function: FunctionInfo, receiver: bool, name: str) -> f.Expr | None:
    """The expression that a call passes for a parameter, if it can be told; `receiver`: of a method, for `self`."""
    normal = [p.name for p in function.parameters if p.kind == "normal"]
    if receiver and normal and not function.is_static:
        if name == normal[0]:
            if of_instance(call, function):
                return call.func
            return call.func.base if type(call.func) is f.Attr else None
        normal = normal[1:]
    for keyword, value in call.keywords:
        if keyword == name:
            return value
    position = normal.index(name) if name in normal else len(call.args)
    if position >= len(call.args) or any(type(a) is f.Starred for a in call.args[: position + 1]):
        return None
    return call.args[position]


def given_by_callers(
    analysis: Analysis, function: FunctionInfo, name: str
) -> Iterator[tuple[ModuleInfo, FunctionInfo | None, f.Expr]]:
    """What calls outside of tests pass for a parameter, but None; each with its file and the function around it."""
    for module, owner, call in calls_outside_tests(analysis, function):
        given = passed(call, function, function.owner is not None, name)
        if given is not None and given != f.Const("None"):
            yield module, owner, given


def _meant(function: FunctionInfo) -> FunctionInfo | ClassInfo:
    """What is called where the function runs: of a constructor the class."""
    owner = function.module.classes.get(function.owner or "") if function.name == "__init__" else None
    return owner if owner is not None else function.origin


def _may_give(call: f.Call, function: FunctionInfo, name: str, place: int) -> bool:
    """Whether a call gives a parameter something else than its default, or may in `*args` or `**kwargs`."""
    if any(type(a) is f.Starred for a in call.args):
        return True
    default = function.parameters[place].default
    at = place - (function.owner is not None and not function.is_static)
    by_place = call.args[at] if function.parameters[place].kind == "normal" and at < len(call.args) else None
    given = [value for key, value in call.keywords if key in (name, None)]
    return any(value != default for value in (*given, *([by_place] if by_place is not None else [])))
