"""Helpers that reduce what they are given in place, and hand it back: `dist.all_reduce(x)`, `return x`.

What comes back is no longer what the caller had, though it is the same object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.sources import admissions, reducing

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis


def is_reduced(analysis: Analysis, function: FunctionInfo, name: str) -> bool:
    """Whether a function reduces what it is given under a name."""
    if not function.module.mentions_any(reducing.WORDS):
        return False
    models = ((admissions.reduction(analysis, function.module, call), call) for call in function.calls)
    given = (admissions.payload(model, call) for model, call in models if model is not None)
    return any(type(part) is f.Name and part.id == name for part in given)


def by_own_layer(analysis: Analysis, function: FunctionInfo) -> str:
    """The parameter that a function of a project's own layer over torch.distributed reduces, by the name that torch has
    for it (`all_reduce`): in one of several ways, as it is set up. "" for all other functions."""
    if function.name != "all_reduce" or function.owner is not None or not function.parameters:
        return ""
    first = function.parameters[0].name
    return first if is_reduced(analysis, function, first) else ""
