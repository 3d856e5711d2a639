"""Helpers of a project that reduce or gather what they are given: `average(x)`, `self.reduce_mean(x)`.

Whoever hands them something takes it to differ, as whoever calls `all_reduce` does; see `admissions`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: calls that reduce or gather
WORDS = frozenset(
    "all_reduce reduce all_gather all_gather_object all_gather_into_tensor gather gather_object allreduce allgather "
    "Allreduce Allgather".split()
)
#: what such helpers are called, and what they call
_NAMES = re.compile(r"reduce|gather|averag|across|_(over|all)_ranks?|sync", re.IGNORECASE)


def is_spoken_of(module: ModuleInfo) -> bool:
    """Whether a file names anything that reduces or gathers: most do not."""
    return module.mentions_like(_NAMES)


def helper_of(analysis: Analysis, function: FunctionInfo, call: f.Call) -> FunctionInfo | None:
    """The function or method of the project that a call leads to: by such a name, or under any in the same file."""
    if _NAMES.search(last_name(call.func)) is None and not function.module.mentions_any(WORDS):
        return None
    called = called_in(analysis, function, call)
    if called is None or called.is_property:
        return None
    return called if called.module is function.module or _NAMES.search(called.name) else None


def called_in(analysis: Analysis, function: FunctionInfo, call: f.Call) -> FunctionInfo | None:
    """The function of the project, or method of the same instance, that a call in a function leads to."""
    func = call.func
    entity: object = None
    owner = function.module.classes.get(function.owner or "")
    if type(func) is f.Attr and type(func.base) is f.Name and owner is not None:
        own_name = function.parameters[0].name if function.parameters and not function.is_static else ""
        entity = analysis.names.method(owner, func.attr) if func.base.id == own_name else None
    entity = entity or analysis.names.resolve(func, function.module)
    return entity if isinstance(entity, FunctionInfo) and not entity.is_generator else None


def argument(helper: FunctionInfo, call: f.Call, name: str) -> f.Expr | None:
    """What a call passes for a parameter, or the parameter's default; None if it has none of that name."""
    for keyword, value in call.keywords:
        if keyword == name:
            return value
    names = [p.name for p in helper.parameters if p.kind == "normal"]
    names = names[1:] if helper.owner is not None and not helper.is_static else names
    if any(type(a) is f.Starred for a in call.args):
        return None
    if name in names and names.index(name) < len(call.args):
        return call.args[names.index(name)]
    return next((p.default for p in helper.parameters if p.name == name), None)
