"""Boxes in which one rank hands something round: `box = [None]`, and `if rank == 0: box[0] = plan()`.

`broadcast_object_list` takes a list, so what the first rank decides goes into one. Until the others have been told,
their box holds what it was made with, and they differ in what they read out of it. Whoever is given the box may have
told them.

https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast_object_list
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def before(frame: Frame, env: Mapping[str, Value], place: str) -> Value | None:
    """The constant that a variable was made with in the place `box[0]` or `box['key']`; None if that is not known."""
    box, bracket, key = place.removesuffix("]").partition("[")
    made = env.get(box) if bracket and place.endswith("]") and box.isidentifier() else None
    if made is None:
        return None
    if made.items is not None and key.isdecimal():
        held = made.items[int(key)] if int(key) < len(made.items) else None
        return held if held is not None and held.const is not None else None
    assigned = frame.analysis.bodies.assigned(frame.function.body, box) if frame.function is not None else []
    written = _entry(assigned[0], key) if len(assigned) == 1 else None
    return frame.ask(written) if type(written) is f.Const else None


def _entry(made: f.Expr, key: str) -> f.Expr | None:
    """What a dict that is written out holds under a key: `{"stop": False}`, `dict(stop=False)`."""
    if type(made) is f.DictDisplay:
        return next((v for k, v in zip(made.keys, made.values, strict=True) if k == f.Const(key)), None)
    if type(made) is f.Call and last_name(made.func) == "dict":
        return next((v for name, v in made.keywords if name is not None and repr(name) == key), None)
    return None


def handed_over(frame: Frame, call: f.Call) -> None:
    """What is called may tell the other ranks what is in the boxes that it is given: what differed there is unknown."""
    values = (*call.args, *(value for _, value in call.keywords))
    for name in [expr.id for expr in values if type(expr) is f.Name]:
        box = frame.env.get(name)
        if box is None or not (box.container or box.there):
            continue  # most of what is passed is no list, tuple or dict that is written out
        for place in [p for p in frame.env if p.startswith(f"{name}[")]:
            frame.env[place] = frame.env[place]._replace(divergence=None, presence=None, absent=None)
        if box.items is not None and any(i.divergence or i.presence for i in box.items):
            frame.env[name] = box._replace(items=None)
