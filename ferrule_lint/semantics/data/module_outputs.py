"""What a module's forward returns: how many things, and which of them are there, follows from how it is built."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: methods that run a module, or a part of it
_FORWARD = re.compile(r"forward(_\w+)?")


def is_output(frame: Frame, expr: f.Expr) -> bool:
    """Whether a name holds nothing but what modules return: `outputs = model(x)`, `hidden, losses = model(x)`,
    `x, weights = layer(x)`."""
    made = _made(frame, expr)
    return bool(made) and all(_is_forward(frame, value) for value in made)


def parts_of_one_input(frame: Frame, expr: f.Expr) -> bool:
    """Whether what is walked are not the samples of a batch: what modules return, or a list that is written out
    (`[x for x in [first, second] if x is not None]`)."""
    if type(expr) is f.Sequence:
        return bool(expr.elements)
    made = _made(frame, expr)
    return bool(made) and all(_is_forward(frame, v) or (type(v) is f.Sequence and bool(v.elements)) for v in made)


def _made(frame: Frame, expr: f.Expr) -> list[f.Expr]:
    """What a name is assigned in this function."""
    if type(expr) is not f.Name or frame.function is None:
        return []
    return [
        s.value
        for s in statements(frame.function.body)
        if type(s) is f.Assign and s.value is not None and any(_binds(target, expr.id) for target in s.targets)
    ]


def _is_forward(frame: Frame, value: f.Expr) -> bool:
    if type(value) is not f.Call:
        return False
    seen = any(pos == value.pos for _, pos, _ in frame.forwards)
    if type(value.func) is f.Attr and _FORWARD.fullmatch(value.func.attr) is not None:
        return True  # `self.tower.forward_features(x)`
    return seen or frame.models.convention("module", last_name(value.func)) is not None


def _binds(target: f.Expr, name: str) -> bool:
    elements = target.elements if type(target) is f.Sequence else (target,)
    return any(type(e) is f.Name and e.id == name for e in elements)
