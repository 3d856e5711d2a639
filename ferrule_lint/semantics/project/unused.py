"""Functions that nobody in the project speaks of: what one does to its parameters is done to none of its modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements, walk

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo

#: helpers that call each other, gone through for whoever calls them
_DEEPEST = 3


def is_given_by_nobody(analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr) -> bool:
    """Whether an expression is a parameter of a function that hands back what it makes of it, and that no file calls,
    names or imports. One that runs it itself may be what somebody starts."""
    if owner is None or owner.owner is not None or owner.decorator_names or owner.qualname != owner.name:
        return False
    if type(expr) is not f.Name or not any(p.name == expr.id for p in owner.parameters):
        return False
    if not _hands_back(owner.body, expr.id):
        return False
    return not analysis.names.mentioning(owner.name) and _is_imported_by_nobody(analysis, module, owner)


def is_called_by_nobody(analysis: Analysis, owner: FunctionInfo | None, depth: int = _DEEPEST) -> bool:
    """Whether a function that hands something back is called in its own file alone, by functions of which the same
    holds: no other file names or imports it. So are helpers that came with a copied file (`maybe_zero_3`)."""
    if owner is None or owner.owner is not None or owner.decorator_names or owner.qualname != owner.name or not depth:
        return False
    if not any(type(s) is f.Return and s.value is not None for s in statements(owner.body)):
        return False  # a program that somebody starts
    module = owner.module
    if any(m is not module for m in analysis.names.mentioning(owner.name)):
        return False
    if not _is_imported_by_nobody(analysis, module, owner):
        return False
    calls = module.calls_named(owner.name)
    bodies = (module.body, *(function.body for function in module.functions.values()))
    named = sum(name.id == owner.name for body in bodies for name in nodes(body, f.Name))
    return named == len(calls) and all(is_called_by_nobody(analysis, caller, depth - 1) for caller, _ in calls)


def _is_imported_by_nobody(analysis: Analysis, module: ModuleInfo, owner: FunctionInfo) -> bool:
    names = analysis.names
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
