"""Parameters by which a function takes its ways, or another that it hands them on to: `evaluate(mode="dev")` calls
`load(mode)`, which waits for the others `if mode == "train"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: functions that a parameter is handed on through
_DEEPEST = 3


def by(analysis: Analysis, function: FunctionInfo, name: str, depth: int = 0) -> bool:
    """Whether a function, or one that it hands a parameter on to, compares it with a text or something named."""
    if name in function.traits.told_apart:
        return True
    if depth >= _DEEPEST:
        return False
    return analysis.told_apart.find(
        (function.id, name, depth),
        lambda: any(by(analysis, *to, depth + 1) for to in _handed_on(analysis, function, name)),
    )


def _handed_on(analysis: Analysis, function: FunctionInfo, name: str) -> list[tuple[FunctionInfo, str]]:
    """The functions of the project that get a parameter as it is, found by their names, and what they call it."""
    found: list[tuple[FunctionInfo, str]] = []
    for call in function.calls:
        keywords = [key for key, value in call.keywords if key and type(value) is f.Name and value.id == name]
        places = [i for i, value in enumerate(call.args) if type(value) is f.Name and value.id == name]
        if not (keywords or places) or type(call.func) is not f.Name:
            continue
        entity = analysis.names.lookup(function.module, call.func.id)
        if isinstance(entity, ClassInfo):
            entity = analysis.names.method(entity, "__init__")
        if not isinstance(entity, FunctionInfo):
            continue
        own = entity.owner is not None and not entity.is_static
        normal = [p.name for p in entity.parameters if p.kind == "normal"][own:]
        found += [(entity, key) for key in keywords]
        found += [(entity, normal[i]) for i in places if i < len(normal)]
    return found
