"""Methods of the project that are called like a library's and wrap modules themselves.

`accelerator.prepare_model(model)` on a class of its own may hand the module to DDP only: that is written in the
project, and what the library's would do is nobody's concern then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import External, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis


def is_for_ddp(analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, call: f.Call) -> bool:
    """Whether a call is one of methods that are the project's own, and all that these wrap anything for is DDP."""
    if type(call.func) is not f.Attr:
        return False
    classes = analysis.classes_of(module, owner, call.func.base)
    methods = [analysis.names.method(info, call.func.attr) for info in classes]
    return bool(methods) and all(m is not None and _wraps_for(analysis, m) == {"ddp"} for m in methods)


def _wraps_for(analysis: Analysis, method: FunctionInfo) -> set[str]:
    """What the calls in a method wrap modules for; "?" is one that may do so by its name, and is not known."""
    found: set[str] = set()
    for call in method.calls:
        if last_name(call.func) not in analysis.models.wrapping:
            continue
        entity = analysis.names.resolve(call.func, method.module)
        model = analysis.models.call(entity.dotted) if isinstance(entity, External) else None
        found.add(model.wraps if model is not None else "?")
    return found - {""}
