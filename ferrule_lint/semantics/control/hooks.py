"""Methods that a library calls and whose result it works on: `training_step` returns the loss of a backward pass.

Where such a method returns None the library leaves that work out. So `return loss` is an event, which all ranks issue
in a step or none: one that returns None because its own loss is not finite has no backward, and the gradients of the
others wait for its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import Atom
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import position, shown
from ferrule_lint.semantics.domain.trace import Choice, Event

if TYPE_CHECKING:
    from ferrule_lint.models.types import CallModel
    from ferrule_lint.semantics.project.entities import ClassInfo
    from ferrule_lint.semantics.walk.frame import Frame


def returned(frame: Frame, s: f.Return, value: Value) -> None:
    """The event of what a library does with what its hook returns."""
    if frame.light or s.value is None or value.const == "None":
        return
    model = worked_on(frame)
    if frame.function is None or model is None:
        return
    pos = position(s.value) or (s.line, 1, s.line, 1)
    confidence = min(Confidence.MEDIUM, Confidence.parse(model.confidence))
    note = f"of what `{frame.function.name}` returns, where that is not None"
    event = Event(model.returned, frozenset(model.axes) or WORLD, "", frame.module.path, pos, confidence, True, note)
    if value.presence is None:
        frame.emit(event)
        return
    atom = Atom(f"whether {shown(s.value)} is None at {pos}", value.presence, value.deps)
    text = shown(s.value.test) if type(s.value) is f.IfExp else shown(s.value)
    frame.emit(Choice(atom, (event,), (), frame.module.path, pos, text, "if"))


def worked_on(frame: Frame) -> CallModel | None:
    """What a library does with what this method returns, if it is one of those and its class leaves that to it."""
    function = frame.function
    if function is None or function.owner is None or function.name not in frame.models.worked_on:
        return None
    owner = function.module.classes.get(function.owner)
    model = _model(frame, owner, function.name) if owner is not None else None
    return None if model is None or owner is None or _works_itself(frame, owner, model) else model


def _model(frame: Frame, owner: ClassInfo, name: str) -> CallModel | None:
    for base in frame.analysis.names.external_bases(owner):
        model = frame.models.call(f"{base}.{name}")
        if model is not None and model.returned:
            return model
    return None


def _works_itself(frame: Frame, owner: ClassInfo, model: CallModel) -> bool:
    """Whether the file of the class, or of one that it inherits from, says that it sees to the work itself."""
    mro = frame.analysis.names.mro(owner)
    return any(info.module.mentions_any(frozenset(model.unless_named)) for info in mro)
