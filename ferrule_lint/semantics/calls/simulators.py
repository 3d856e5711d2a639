"""Environments of the project's own classes: `self.train_envs.step(actions)`, of a class `VectorEnv`.

What a simulator says of the rank's own episodes is made by a library, or in another process, behind its `step`; so
nothing is known of it where the method is gone through, though it is what its name says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.models.types import CallModel
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

_CLASSES = re.compile(r"(?<![A-Z])Envs?(ironments?)?(?![a-z])|Simulator")
_STEP = "step"


def model_of(frame: Frame, function: FunctionInfo, call: f.Call, value: Value) -> CallModel | None:
    """What is known by its name of a step that an environment of the project makes, where going through it has told
    nothing."""
    if function.name != _STEP or function.owner is None or type(call.func) is not f.Attr or frame.light:
        return None
    if not _CLASSES.search(function.owner) or any(map(_is_told, (value, *(value.items or ())))):
        return None
    return frame.models.method(_STEP, last_name(call.func.base))


def _is_told(value: Value) -> bool:
    return value.divergence is not None or value.data is not None or value.const is not None
