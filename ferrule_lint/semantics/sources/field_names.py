"""Fields that hold tensors of the local batch by their names: `out.loss_mask`, `micro["response_mask"]`.

What carries them need not be known, if it was passed in: a record, a dict. Asked where nothing is known of the field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.dependences import FLOWS, ITEM
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def of_field(frame: Frame, e: f.Attr | f.Subscript, base: Value, name: str, value: Value) -> Value:
    """The value of a field, as local data if its name cannot be mistaken and nothing else is known of it.

    An attribute of the instance itself may be a setting, and what a module keeps is a buffer or made for good. What was
    made here may be the input of a stand-in.
    """
    if frame.light or frame.models.convention("tensor", name) is None or not _is_open(value):
        return value
    if base.uniform or base.module or base.agreed or base.divergence is not None:
        return value
    if not _is_part_of_batch(frame, base) and not _is_passed(frame, e.base, base):
        return value
    if any(frame.analysis.is_module(info) for info in base.types):
        return value
    note = f"`{shown(e)}` holds the rank's own data"
    data = frame.source(DP, "data", e.pos, note, Confidence.MEDIUM)._replace(assumed=True)
    return value._replace(data=data)


def _is_passed(frame: Frame, carrier: f.Expr, base: Value) -> bool:
    """Whether what carries a field is a parameter, or an item of one."""
    if base.target is not None or type(carrier) is not f.Name or carrier.id == frame.self_name:
        return False
    if frame.models.convention("uniform", carrier.id) is not None:
        return False
    return (carrier.id, FLOWS) in base.deps or any(how == ITEM for _, how in base.deps)


def _is_part_of_batch(frame: Frame, base: Value) -> bool:
    """Whether what carries a field is the batch of something passed in: `data.batch["response_mask"]`."""
    parts = (name.partition(".") for name, how in base.deps if how == FLOWS)
    return any(
        root != frame.self_name and "." not in part and frame.models.convention("batch", part) is not None
        for root, _, part in parts
        if part
    )


def _is_open(value: Value) -> bool:
    known = (value.divergence, value.data, value.presence, value.const, value.items, value.group, value.stage)
    return not (value.uniform or value.agreed or value.types or value.module or any(v is not None for v in known))
