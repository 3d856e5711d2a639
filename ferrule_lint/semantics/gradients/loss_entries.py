"""The loss among other things that a forward returns: `return loss, logits`, `Output(loss=loss, logits=logits)`.

Who trains runs the backward pass of the loss. The other entries are there to be looked at, so what reaches only them
has no gradient on this rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.reach import Reach
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.gradients import meeting
from ferrule_lint.semantics.gradients.participation import assigned, combined

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: what the loss is called, and in a dict of several each of them
_LOSS = re.compile(r"^((total|mean|final|full)_)?loss$")
#: classes that hold what a forward returns, by their names, and `dict`
_HOLDS = re.compile(r"^(?=[A-Z])\w*(Output|Result)|^dict$")


def note(frame: Frame, s: f.Return) -> None:
    """What the loss in a `return` reaches, beside other entries; nothing where there is none."""
    entry = (next(_entries(s.value), None) or _in_its_place(frame, s.value)) if frame.in_module else None
    value = None
    if entry is not None:
        pos = (s.line, 1, s.line, 1)
        value = frame.ask(entry) if type(entry) is f.Name else assigned(frame.ask(entry), pos)
    frame.losses.append(value)


def reach(frame: Frame) -> Reach | None:
    """What the loss that a function returns among other things reaches, where each of its returns has one."""
    values = [value for value in frame.losses if value is not None]
    if not values or len(values) != len(frame.losses) or len(values) != len(frame.returns):
        return None
    if len(values) == 1:
        return combined(values)
    return meeting.over_returns(values, frame.returns)


def _in_its_place(frame: Frame, expr: f.Expr | None) -> f.Expr | None:
    """`torch.zeros(()), logits`, where another `return` of the function gives `loss, logits`."""
    if type(expr) is not f.Sequence or frame.function is None:
        return None
    for s in statements(frame.function.body):
        if type(s) is f.Return and type(s.value) is f.Sequence and len(s.value.elements) == len(expr.elements):
            named = next(_entries(s.value), None)
            if named is not None:
                return expr.elements[s.value.elements.index(named)]
    return None


def _entries(expr: f.Expr | None) -> Iterator[f.Expr]:
    if type(expr) is f.Sequence and len(expr.elements) > 1:
        yield from (e for e in expr.elements if type(e) is f.Name and _LOSS.search(e.id))
    elif type(expr) is f.DictDisplay and len(expr.keys) > 1:
        for key, value in zip(expr.keys, expr.values, strict=True):
            if type(key) is f.Const and _LOSS.search(key.text.strip("'\"")):
                yield value
    elif type(expr) is f.Call and _HOLDS.search(last_name(expr.func)) and len(expr.keywords) > 1:
        yield from (value for name, value in expr.keywords if name and _LOSS.search(name))
