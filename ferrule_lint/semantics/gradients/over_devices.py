"""Classes that spread their model over the devices of one process: `self.model = nn.DataParallel(model)`.

Their backward pass meets nobody. A project that was written for one process first often has such a trainer beside the
one for many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

_SPREADS = frozenset({"DataParallel"})


def spreads_itself(analysis: Analysis, info: ClassInfo | None) -> bool:
    """Whether a class, no module, or one that it inherits from puts something into `DataParallel`, and none of them
    names anything that wraps modules for several processes."""
    if info is None or analysis.is_module(info):
        return False
    classes = analysis.names.mro(info)
    if not any(_spreads(c) for c in classes if c.module.mentions_any(_SPREADS)):
        return False
    return not any(_wraps(analysis, method) for c in classes for method in c.methods.values())


def _spreads(info: ClassInfo) -> bool:
    return any(last_name(call.func) in _SPREADS for method in info.methods.values() for call in method.calls)


def _wraps(analysis: Analysis, method: FunctionInfo) -> bool:
    """Whether a method names what wraps modules for several processes, by its own name or that of an import."""
    bound, models = method.module.bound, analysis.models
    for node in walk(method.body):
        if type(node) is f.Name or type(node) is f.Attr:
            said = last_name(node)
            meant = {said, bound[said][0].rpartition(".")[2]} if said in bound else {said}
            if not meant.isdisjoint(models.wrapping | models.wrapping_classes):
                return True
    return False
