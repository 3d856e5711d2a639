"""Tensors whose size a function is told beside them, for those who have none.

    def share(size, tensor=None, src=0):
        if get_rank() != src:
            tensor = torch.empty(size)
        broadcast(tensor, src)

What the sender has is of that size, by what the function asks of its callers; it is the size that ranks may differ in.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.text import called_name

_MAKES = frozenset("empty zeros ones full".split())


def is_told(body: f.Body, parameters: tuple[str, ...], place: str) -> bool:
    """Whether a parameter is made anew in one arm of a test, of a size that is another one, and left in the other."""
    made = [s for s in statements(body) if type(s) is f.Assign and _sets(s, place)]
    if len(made) != 1 or place not in parameters or not _is_of_size(made[0].value, parameters, place):
        return False
    return any(type(s) is f.If and (made[0] in s.body) is not (made[0] in s.orelse) for s in statements(body))


def _sets(s: f.Assign, place: str) -> bool:
    return any(type(t) is f.Name and t.id == place for t in s.targets)


def _is_of_size(expr: f.Expr | None, parameters: tuple[str, ...], place: str) -> bool:
    if type(expr) is not f.Call or called_name(expr) not in _MAKES or not expr.args:
        return False
    sizes = expr.args[:1] if called_name(expr) == "full" else expr.args
    names = {node.id for node in walk(sizes) if type(node) is f.Name}
    return bool(names) and place not in names and names <= set(parameters)
