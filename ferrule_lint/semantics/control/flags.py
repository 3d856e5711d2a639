"""Flags of a library's loop: `trainer.should_stop = True` ends the training, and with it all collectives of its rounds.

Nobody reduces them: a rank that sets one alone leaves the loop alone. An assignment is therefore an event, which all
ranks issue or none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import Atom
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, render, shown
from ferrule_lint.semantics.domain.trace import Choice, Event
from ferrule_lint.semantics.project.entities import by_id

if TYPE_CHECKING:
    from ferrule_lint.models.types import AttributeModel
    from ferrule_lint.semantics.walk.frame import Frame

_AGREES = ("broadcast", "reduce", "gather")


def assigned(frame: Frame, target: f.Attr, value: Value) -> None:
    """The event of an assignment that decides what a library's loop does."""
    model = None if frame.light or value.const == "False" else _model(frame, target)
    if model is None or model.assigned is None or _agreed_later(frame, target.attr):
        return
    note = f"`{shown(target)}` is read by the loop of every rank"
    confidence = min(Confidence.MEDIUM, Confidence.parse(model.confidence))
    event = Event(model.assigned, WORLD, "", frame.module.path, target.pos, confidence, True, note)
    if value.divergence is None:
        frame.emit(event)
        return
    atom = Atom(f"what {render(target)} becomes at {target.pos}", value.divergence, value.deps)
    text = f"{shown(target)} = ..."
    frame.emit(Choice(atom, (event,), (), frame.module.path, target.pos, text, "assignment"))


def _model(frame: Frame, target: f.Attr) -> AttributeModel | None:
    base = frame.eval(target.base)
    if base.external is not None:
        model = frame.models.attribute(f"{base.external}.{target.attr}")
        if model is not None:
            return model
    for info in by_id(base.types):
        for outer in frame.analysis.names.external_bases(info):
            model = frame.models.attribute(f"{outer}.{target.attr}")
            if model is not None:
                return model
    return frame.models.attribute_of(target.attr, last_name(target.base)) if not base.types else None


def _agreed_later(frame: Frame, name: str) -> bool:
    """Whether the function brings the ranks' flags together somewhere: `trainer.flag = broadcast(trainer.flag)`."""
    for item in statements(frame.function.body if frame.function is not None else ()):
        if type(item) is f.Assign and type(item.value) is f.Call:
            names = {last_name(t) for t in item.targets}
            if name in names and any(word in last_name(item.value.func) for word in _AGREES):
                return True
    return False
