"""Losses of modules that the function itself has built and nothing has wrapped: gradients of one process.

The class may well be wrapped in another file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def is_bare(frame: Frame, loss: Value, func: f.Expr) -> bool:
    """Whether all modules that a loss comes from are such; `func`: the `loss.backward` that is called."""
    if loss.reach is not None:
        outputs = [output for output in loss.reach.outputs if not _is_fed(frame, output)]
        names = [output.lstrip("=").partition("#")[0].rstrip("~") for output in outputs]
    else:
        made = definition(frame, func.base) if type(func) is f.Attr else func
        names = [made.func.id] if type(made) is f.Call and type(made.func) is f.Name else []
    values = [frame.env.get(name) for name in names]
    return bool(values) and all(value is not None and value.unwrapped for value in values)


def _is_fed(frame: Frame, output: str) -> bool:
    """Whether something is what such modules are fed, an item of what the function is given or of a loader, or the
    device that they are moved to."""
    if not output.startswith("="):
        return False
    name, _, item = output[1:].partition("#")
    return bool(item) or name == "device" or frame.env.get(name.rstrip("~"), UNKNOWN).loader
