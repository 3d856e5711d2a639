"""Places along an axis that are worked out from the rank of the job: `tp_rank = rank % tp_size`.

    self.dp_rank, self.tp_rank = divmod(rank, tp_size)
    if self.tp_rank == 0:
        all_reduce(x, group=dp_group)

By itself a rank that is divided is another number on some ranks of each group. The axis along which it counts is told
by what it is kept in, or by the size that is taken of it; ranks that are one along all other axes have one such place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.axes import WORLD, Axes
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_DIVIDES = frozenset({"Mod", "FloorDiv"})
#: a stage that is worked out from the rank is one of a pipeline, and none of the training
_STAGE = re.compile(r"(^|_)stage(_(id|idx|index|num|number))?$")
_STAGES: Axes = frozenset({"pp"})


def of_target(frame: Frame, target: f.Expr, source: f.Expr, value: Value) -> Value:
    """What a name is bound to that is worked out from the rank: its place along the axis that the name speaks of."""
    if not _is_of_job(value) or not any(map(_divides, walk(source))):
        return value
    name = last_name(target)
    axes = frozenset(frame.models.convention("rank", name) or ())
    return _along(value, _STAGES if _STAGE.search(name) else axes)


def of_remainder(frame: Frame, e: f.Op, value: Value) -> Value:
    """`rank % tp_size`"""
    size = e.operands[-1]
    if not _is_of_job(value) or e.kind != "Mod" or type(size) not in (f.Name, f.Attr):
        return value
    return _along(value, frame.axes_in(last_name(size)) or frozenset())


def _is_of_job(value: Value) -> bool:
    own = value.divergence
    return own is not None and own.kind == "rank" and own.axes == WORLD


def _along(value: Value, axes: Axes) -> Value:
    if value.divergence is None or len(axes) != 1 or axes == WORLD:
        return value
    return value._replace(divergence=value.divergence._replace(axes=axes))


def _divides(node: object) -> bool:
    if type(node) is f.Op:
        return node.kind in _DIVIDES
    return type(node) is f.Call and last_name(node.func) == "divmod"
