"""A rank of the job that is picked by its place in a group: `get_global_rank(tp_group, 0)`, the first, last or least of
`get_process_group_ranks(tp_group)`.

`get_rank() == get_global_rank(tp_group, 0)` holds for one member of each group: it is `get_rank(tp_group) == 0` in
other words, and ranks differ in it along the axes of that group alone.
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.get_global_rank
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.axes import WORLD, Axes, is_untold
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, place_name, render

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule_lint.semantics.walk.frame import Frame

    _Asks = Callable[[Frame, f.Expr, int], f.Expr | None]

_LISTS, _CONVERTS = "get_process_group_ranks", "get_global_rank"
#: what picks one of a list by itself
_PICKS = frozenset({"min", "max", "next"})
_DEEPEST = 3


def told_by(frame: Frame, asked: f.Expr, named: f.Expr, divergence: Divergence) -> Divergence:
    """Along which axes ranks differ in whether this rank (`asked`) is the one that an expression names."""
    if divergence.kind != "rank" or "world" not in divergence.axes:
        return divergence
    group = _group_of(frame, named, 0) or _group_of(frame, asked, 0)
    axes = _axes(frame, group) if group is not None else None
    return divergence if axes is None else divergence._replace(axes=axes)


def _axes(frame: Frame, group: f.Expr) -> Axes | None:
    known: Value = frame.ask(group)
    axes = known.group or frame.axes_in(render(group))
    return None if axes is None or axes == WORLD or is_untold(axes) else axes


def _group_of(frame: Frame, expr: f.Expr, depth: int) -> f.Expr | None:
    """The group among whose members a rank is picked."""
    if type(expr) is f.Call and last_name(expr.func) == _CONVERTS and len(expr.args) == 2:
        return expr.args[0] if type(expr.args[1]) is f.Const else None
    if type(expr) is f.Call and last_name(expr.func) in _PICKS and len(expr.args) == 1:
        return _listed(frame, expr.args[0], depth)
    if type(expr) is f.Subscript and _is_place(expr.index):
        return _listed(frame, expr.base, depth)
    return _followed(frame, expr, depth, _group_of)


def _is_place(index: f.Expr) -> bool:
    return type(index) is f.Const or (type(index) is f.Op and index.kind == "USub")


def _listed(frame: Frame, expr: f.Expr, depth: int) -> f.Expr | None:
    """The group whose members an expression lists."""
    if type(expr) is f.Call and last_name(expr.func) == _LISTS and len(expr.args) == 1:
        return expr.args[0]
    if type(expr) is f.Call and last_name(expr.func) in ("list", "sorted", "tuple") and len(expr.args) == 1:
        return _listed(frame, expr.args[0], depth)
    return _followed(frame, expr, depth, _listed)


def _followed(frame: Frame, expr: f.Expr, depth: int, asks: _Asks) -> f.Expr | None:
    """The same of what a name, or an attribute of this instance, is set to."""
    place = place_name(expr)
    if not place or depth >= _DEEPEST:
        return None
    if type(expr) is f.Name:
        made = definition(frame, expr)
        return asks(frame, made, depth + 1) if made is not expr else None
    own, owner = frame.own_attribute(place), frame.self_class
    if not own or owner is None:
        return None
    assigned = frame.analysis.bodies.assigned
    values = [value for method in owner.methods.values() for value in assigned(method.body, place)]
    found = asks(frame, values[0], depth + 1) if len(values) == 1 else None
    return found if found is not None and frame.own_attribute(place_name(found)) else None
