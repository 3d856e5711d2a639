"""Methods of the project's modules that run no module: `model.estimate_mfu(n, dt)` counts parameters.

A call of a method on a module of unknown class is mostly a forward, and a module of a library may have any method. But
where classes of the project have the method, and each reckons with numbers only, it is that.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo

#: methods of the same object that are looked into behind each other
_DEEPEST = 2
#: classes with such a method; with more it is anybody's
_MOST = 6


def is_quiet(analysis: Analysis, name: str, runs_nothing: Callable[[str], bool]) -> bool:
    """Whether all methods of a name that modules of the project have run nothing; `runs_nothing`: what the name of a
    method says of itself."""
    return analysis.quiet.find(name, lambda: _all_reckon(analysis, name, runs_nothing))


def _all_reckon(analysis: Analysis, name: str, runs_nothing: Callable[[str], bool]) -> bool:
    found = analysis.names.methods_named(name)
    of_modules = [m for m in found if m.owner is not None and analysis.is_module(m.module.classes[m.owner])]
    if not of_modules or len(of_modules) != len(found) or len(found) > _MOST:
        return False
    return all(_reckons(analysis, method, runs_nothing, 0) for method in found)


def _reckons(analysis: Analysis, method: FunctionInfo, runs_nothing: Callable[[str], bool], depth: int) -> bool:
    own = method.parameters[0].name if method.parameters and not method.is_static else ""
    if not own or method.owner is None or method.is_generator:
        return False
    owner = method.module.classes[method.owner]
    for call in (node for node in walk(method.body) if type(node) is f.Call):
        given = (*call.args, *(value for _, value in call.keywords))
        if any(type(x) is f.Name and x.id == own for x in given):
            return False
        name = last_name(call.func)
        if type(call.func) is f.Name:
            known = hasattr(builtins, name) or analysis.names.lookup(method.module, name) is not None
            if not known or name == "super":
                return False
        elif type(call.func) is not f.Attr or name == "forward":
            return False
        elif not runs_nothing(name) and (place_name(call.func) or own).split(".")[0] == own:
            of_it = analysis.names.method(owner, name) if place_name(call.func) == f"{own}.{name}" else None
            if of_it is None or depth == _DEEPEST or not _reckons(analysis, of_it, runs_nothing, depth + 1):
                return False
    return True
