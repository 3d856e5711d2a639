"""Functions that nobody in the project speaks of: what one does to its parameters is done to none of its modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo


def is_given_by_nobody(analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr) -> bool:
    """Whether an expression is a parameter of a function that hands back what it makes of it, and that no file calls,
    names or imports. One that runs it itself may be what somebody starts."""
    if owner is None or owner.owner is not None or owner.decorator_names or owner.qualname != owner.name:
        return False
    if type(expr) is not f.Name or not any(p.name == expr.id for p in owner.parameters):
        return False
    if not _hands_back(owner.body, expr.id):
        return False
    names = analysis.names
    if names.mentioning(owner.name):
        return False
    names.reads.ask("imports", "")
    ending = f"{module.name.rpartition('.')[2]}.{owner.name}"
    for other in names.modules.values():
        if any(dotted == owner.name or dotted.endswith(ending) for dotted, _ in other.bound.values()):
            return False
        if any(names.module_named(dotted, other, relative) is module for dotted, relative in other.starred):
            return False
    return True


def _hands_back(body: f.Body, name: str) -> bool:
    nodes = list(walk(body))
    if any(type(node) is f.Call and type(node.func) is f.Name and node.func.id == name for node in nodes):
        return False
    return any(type(node) is f.Return and type(node.value) is f.Name and node.value.id == name for node in nodes)
