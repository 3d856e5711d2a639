"""Losses of modules that the function itself has built and nothing has wrapped: gradients of one process.

The class may well be wrapped in another file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.lattice import Value

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def is_bare(frame: Frame, loss: Value, func: f.Expr) -> bool:
    """Whether all modules that a loss comes from are such; `func`: the `loss.backward` that is called."""
    if loss.reach is not None:
        names = [output.lstrip("=").partition("#")[0].rstrip("~") for output in loss.reach.outputs]
    else:
        made = definition(frame, func.base) if type(func) is f.Attr else func
        names = [made.func.id] if type(made) is f.Call and type(made.func) is f.Name else []
    values = [frame.env.get(name) for name in names]
    return bool(values) and all(value is not None and value.unwrapped for value in values)
