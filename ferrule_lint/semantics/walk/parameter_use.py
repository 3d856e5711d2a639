"""What a function does with a parameter, where that says more of it than its name: a root, a number, a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_ROOTS = frozenset({"src", "group_src", "root", "root_rank"})
_LEAST = frozenset({"min", "max", "range"})
_SIZES = frozenset({"batch_size"})


def is_root(frame: Frame, name: str) -> bool:
    """Whether a function broadcasts from a rank that it is given: all ranks name the same one, whatever else it asks of
    that (`if rank_id: broadcast(x, src=rank_id)`)."""
    if frame.function is None or name == "rank":
        return False
    return any(
        keyword in _ROOTS and type(value) is f.Name and value.id == name
        for call in frame.function.calls
        for keyword, value in call.keywords
    )


def is_number(frame: Frame, name: str) -> bool:
    """Whether a function takes the lesser of a parameter and something else, or hands it on as the size of a batch."""
    if frame.function is None:
        return False
    return any(
        type(given) is f.Name and given.id == name
        for call in frame.function.calls
        for given in (
            *(call.args if type(call.func) is f.Name and call.func.id in _LEAST else ()),
            *(value for keyword, value in call.keywords if keyword in _SIZES),
        )
    )


def is_text(frame: Frame, name: str) -> bool:
    """Whether a function puts a text in the place of a parameter on some way (`task = "default"`): it is one on all."""
    body = frame.function.body if frame.function is not None else ()
    return any(
        type(s.value) is f.Const and s.value.text[:1] in "\"'" and any(t.id == name for t in nodes(s.targets, f.Name))
        for s in statements(body)
        if type(s) is f.Assign and all(type(t) is f.Name for t in s.targets)
    )
