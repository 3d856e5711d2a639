"""Copies of a module: `model = copy.deepcopy(model)`. What FSDP has wrapped cannot be copied so, and who runs a copy to
count operations, or to look at one layer, does so by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.assigned import assigning
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def is_copy(frame: Frame, called: f.Expr) -> bool:
    """Whether what is called was last assigned a copy, which this function gives to nothing that wraps modules."""
    if type(called) is not f.Name or frame.function is None or not frame.version(called.id):
        return False
    body, line = frame.function.body, called.pos[0]
    made = [s for s in assigning(body, called.id) if s.line <= line]
    value = max(made, key=lambda s: s.line).value if made else None
    if type(value) is not f.Call or last_name(value.func) != "deepcopy":
        return False
    return not any(
        type(node) is f.Call
        and last_name(node.func) in frame.models.wrapping
        and any(place_name(given) == called.id for given in (*node.args, *(v for _, v in node.keywords)))
        for node in walk(body)
    )
