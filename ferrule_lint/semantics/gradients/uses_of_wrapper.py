"""What a function does with a wrapper that it holds: whether all of it goes behind the wrapper, to the module in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.text import last_name, place_name, variables
from ferrule_lint.semantics.project.entities import FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ModuleInfo

#: calls that what is passed to them is looked at by, or wrapped
_LOOKS = re.compile(
    r"isinstance|hasattr|getattr|print|type|id|unwrap\w*|watch|DDP|DistributedDataParallel|convert_sync_batchnorm"
)
_RUNS = frozenset({"forward", "__call__"})
#: functions that hand a wrapper on to each other
_DEEPEST = 3


def only_behind(
    analysis: Analysis, module: ModuleInfo, function: FunctionInfo | None, place: str, depth: int = 0
) -> bool:
    """Whether a function calls what it holds at a place nowhere itself, and hands it to nobody else who may: all uses
    are attributes of it, tests, and arguments of functions of the project that do the same."""
    if not place or depth > _DEEPEST:
        return False
    body = module.body if function is None else function.body
    if "." in place:
        return _nobody_runs(analysis, module, function, place, depth)
    name = None if function is None else function.qualname
    nested = [fn for fn in module.functions.values() if fn.parent == name]
    if function is not None and any(place in variables(fn.body) for fn in nested):
        return False
    return _goes_behind(analysis, module, function, body, place, depth)


def _nobody_runs(analysis: Analysis, module: ModuleInfo, function: FunctionInfo | None, place: str, depth: int) -> bool:
    """The same for an attribute of the instance (`self.model`), in all methods of its class; others are not to speak of
    an attribute of the name."""
    owner = module.classes.get(function.owner or "") if function is not None else None
    root, _, attribute = place.partition(".")
    if owner is None or "." in attribute or function is None or root != function.parameters[0].name:
        return False
    methods = {id(method): method for method in owner.methods.values()}
    for other in analysis.names.mentioning(attribute):
        for fn in other.functions.values():
            if id(fn) not in methods and any(_is_attribute(node, attribute) for node in walk(fn.body)):
                return False
    return all(
        not method.parameters
        or _goes_behind(analysis, module, method, method.body, f"{method.parameters[0].name}.{attribute}", depth)
        for method in methods.values()
    )


def _is_attribute(node: object, name: str) -> bool:
    return type(node) is f.Attr and node.attr == name


def _goes_behind(
    analysis: Analysis, module: ModuleInfo, function: FunctionInfo | None, body: f.Body, place: str, depth: int
) -> bool:
    """Whether each occurrence of a place stands where it is only looked at."""

    def is_it(node: object) -> bool:
        return type(node) in (f.Name, f.Attr) and place_name(node) == place  # type: ignore[arg-type]

    total, fine = 0, 0
    for node in walk(body):
        total += is_it(node)
        kind = type(node)
        if kind is f.Attr:
            if is_it(node.base):  # type: ignore[attr-defined]
                if node.attr in _RUNS:  # type: ignore[attr-defined]
                    return False
                fine += 1
        elif kind is f.Compare:
            fine += is_it(node.left) + sum(map(is_it, node.rights))  # type: ignore[attr-defined]
        elif kind is f.Not:
            fine += is_it(node.operand)  # type: ignore[attr-defined]
        elif kind is f.If or kind is f.IfExp:
            fine += is_it(node.test)  # type: ignore[attr-defined]
        elif kind is f.Call:
            handed = _handed(analysis, module, function, node, place, depth)  # type: ignore[arg-type]
            if handed is None:
                return False
            fine += handed
    for s in statements(body):
        if type(s) is f.Assign:
            fine += sum(map(is_it, s.targets))
    return total == fine


def _handed(
    analysis: Analysis, module: ModuleInfo, function: FunctionInfo | None, call: f.Call, place: str, depth: int
) -> int | None:
    """How often a call is handed what is held at a place where nothing is run; None where it may be."""
    if place_name(call.func) == place:
        return None
    given = [value for value in (*call.args, *(value for _, value in call.keywords)) if place in places(value)]
    if not given or _LOOKS.fullmatch(last_name(call.func)):
        return len(given)
    target = callee(analysis, module, function, call)
    if target is None:
        return None
    taken = [name for name, value in bound(target, call) if place in places(value)]
    if len(taken) != len(given):
        return None
    same = all(only_behind(analysis, target.module, target, name, depth + 1) for name in taken)
    return len(given) if same else None


def places(e: f.Expr) -> list[str]:
    """The places of which one is handed over: `x` of `x if there else None`, both of `self.net if alone else x`."""
    if type(e) is f.IfExp:
        return [*places(e.body), *places(e.orelse)]
    return [place_name(e)] if type(e) in (f.Name, f.Attr) and place_name(e) else []


def callee(analysis: Analysis, module: ModuleInfo, function: FunctionInfo | None, call: f.Call) -> FunctionInfo | None:
    """The function of the project that a call means by its name, or a method of the same instance."""
    func = call.func
    own = function.parameters[0].name if function is not None and function.owner and function.parameters else ""
    if type(func) is f.Attr and own and place_name(func.base) == own and function is not None:
        owner = module.classes.get(function.owner or "")
        return analysis.names.method(owner, func.attr) if owner is not None else None
    found = analysis.names.resolve(func, module)
    return found if isinstance(found, FunctionInfo) else None


def bound(function: FunctionInfo, call: f.Call) -> Iterator[tuple[str, f.Expr]]:
    """The parameters of a function that a call passes something for, with that."""
    names = [p.name for p in function.parameters if p.kind == "normal"]
    if function.owner is not None and not function.is_static:
        names = names[1:]
    if not any(type(argument) is f.Starred for argument in call.args):
        yield from zip(names, call.args, strict=False)
    known = {p.name for p in function.parameters}
    yield from ((key, value) for key, value in call.keywords if key in known)
