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
) -> tuple[list[ClassInfo], bool]:
    """The classes of modules that callers hand over for a parameter, and whether that is all they are seen to."""
    if owner is None or type(expr) is not f.Name or not _is_parameter(owner, expr.id):
        return [], False
    found: dict[str, ClassInfo] = {}
    by_all = True
    for there, caller, call in calls_of(analysis, owner):
        if is_test(there.path):
            continue
        given = passed(call, owner, owner.owner is not None, expr.id)
        told = [] if given is None else _made(analysis, there, caller, given, depth)
        by_all = by_all and bool(told)
        found.update((info.id, info) for info in told)
    return [found[cls] for cls in sorted(found)], by_all and bool(found)


def _made(
    analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr, depth: int
) -> list[ClassInfo]:
    told = [info for info in analysis.classes_of(module, owner, expr) if analysis.is_module(info)]
    if told or not depth:
        return told
    found, by_all = classes(analysis, module, owner, expr, depth - 1)
    return found if by_all else []


def _is_parameter(owner: FunctionInfo, name: str) -> bool:
    """Whether a name is a parameter, and set to nothing but what is made of it (`model = model.to(device)`)."""
    own = owner.parameters[1:] if owner.owner is not None and not owner.is_static else owner.parameters
    if not any(parameter.name == name and parameter.kind == "normal" for parameter in own):
        return False
    return all(name in variables(source) for source, _ in assignments(owner.body, name))
