"""What a function issues by methods of what it is given, where only its callers know of which library's class that is.

`torch.save(model.state_dict(), path)` is something that all ranks do if the model is one in FSDP, and nobody's business
else. A helper is looked at once more for each such class that it is passed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.semantics.project.entities import External, FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis


def issued(analysis: Analysis, function: FunctionInfo, name: str, dotted: str) -> frozenset[str]:
    """What the methods issue that a function calls on a parameter, if that is of some class of a library; nothing where
    its name or its annotation tells that to everybody."""
    models = analysis.models
    parameter = next((p for p in function.parameters if p.name == name), None)
    called = (models.call(f"{dotted}.{m}") for m in function.calls_on(name) if models.method(m, name) is None)
    events = frozenset(model.event for model in called if model is not None and model.event is not None)
    if parameter is None or not events:
        return frozenset()
    told = None
    if parameter.annotation is not None:
        told = analysis.names.resolve(parameter.annotation, function.module)
    if isinstance(told, External) and models.canonical(told.dotted) == models.canonical(dotted):
        return frozenset()
    return events
