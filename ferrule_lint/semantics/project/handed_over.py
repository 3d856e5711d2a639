"""Modules that a function wraps for its callers: `shard(Model())`, of `def shard(model): fully_shard(model)`.

Which class a parameter is of is the callers' to say: what each of them makes, or was handed itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.text import variables
from ferrule_lint.semantics.project.options import given_by_callers

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

#: functions that hand a module on, one to the other
_DEEPEST = 3


def classes(analysis: Analysis, owner: FunctionInfo | None, expr: f.Expr) -> list[ClassInfo]:
    """The classes of modules that callers are seen to hand over for a parameter."""
    if owner is None or type(expr) is not f.Name or not _is_parameter(owner, expr.id):
        return []
    ids = of_parameter(analysis, owner, expr.id)
    return [info for cls in ids if (info := analysis.names.class_of_id(cls)) is not None]


def of_parameter(analysis: Analysis, owner: FunctionInfo, name: str) -> tuple[str, ...]:
    """The same by their ids, in order."""
    return analysis.handed_over.find(f"{owner.id} {name}", lambda: _given(analysis, owner, name, _DEEPEST), ())


def _given(analysis: Analysis, owner: FunctionInfo, name: str, depth: int) -> tuple[str, ...]:
    found: set[str] = set()
    for module, caller, given in given_by_callers(analysis, owner, name):
        made = {info.id for info in analysis.classes_of(module, caller, given) if analysis.is_module(info)}
        if not made and depth and caller is not None and type(given) is f.Name and _is_parameter(caller, given.id):
            made.update(_given(analysis, caller, given.id, depth - 1))
        found |= made
    return tuple(sorted(found))


def _is_parameter(owner: FunctionInfo, name: str) -> bool:
    """Whether a name is a parameter, and set to nothing but what is made of it (`model = model.to(device)`)."""
    own = owner.parameters[1:] if owner.owner is not None and not owner.is_static else owner.parameters
    if not any(parameter.name == name and parameter.kind == "normal" for parameter in own):
        return False
    return all(name in variables(source) for source, _ in assignments(owner.body, name))
