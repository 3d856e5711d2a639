"""Modules that a function wraps for its callers: `shard(Model())`, of `def shard(model): fully_shard(model)`.

Which class a parameter is of is the callers' to say: what each of them makes, or was handed itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.text import variables
from ferrule_lint.semantics.project.options import calls_of, passed
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo

#: functions that hand a module on, one to the other
_DEEPEST = 3


def classes(
    analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr, depth: int = _DEEPEST
) -> list[ClassInfo]:
    """The classes of modules that callers are seen to hand over for a parameter."""
    if owner is None or type(expr) is not f.Name or not _is_parameter(owner, expr.id):
        return []
    found: dict[str, ClassInfo] = {}
    for there, caller, call in calls_of(analysis, owner):
        given = None if is_test(there.path) else passed(call, owner, owner.owner is not None, expr.id)
        if given is not None:
            found.update((info.id, info) for info in _made(analysis, there, caller, given, depth))
    return [found[cls] for cls in sorted(found)]


def _made(
    analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr, depth: int
) -> list[ClassInfo]:
    told = [info for info in analysis.classes_of(module, owner, expr) if analysis.is_module(info)]
    return told if told or not depth else classes(analysis, module, owner, expr, depth - 1)


def _is_parameter(owner: FunctionInfo, name: str) -> bool:
    """Whether a name is a parameter, and set to nothing but what is made of it (`model = model.to(device)`)."""
    own = owner.parameters[1:] if owner.owner is not None and not owner.is_static else owner.parameters
    if not any(parameter.name == name and parameter.kind == "normal" for parameter in own):
        return False
    return all(name in variables(source) for source, _ in assignments(owner.body, name))
