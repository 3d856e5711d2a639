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
    if base.uniform or base.module or base.target is not None or base.agreed or base.divergence is not None:
        return value
    if type(e.base) is not f.Name or e.base.id == frame.self_name:
        return value
    if (e.base.id, FLOWS) not in base.deps and all(how != ITEM for _, how in base.deps):
        return value
    if frame.models.convention("uniform", e.base.id) is not None:
        return value
    if any(frame.analysis.is_module(info) for info in base.types):
        return value
    note = f"`{shown(e)}` holds the rank's own data"
    data = frame.source(DP, "data", e.pos, note, Confidence.MEDIUM)._replace(assumed=True)
    return value._replace(data=data)


def _is_open(value: Value) -> bool:
    known = (value.divergence, value.data, value.presence, value.const, value.items, value.group, value.stage)
    return not (value.uniform or value.agreed or value.types or value.module or any(v is not None for v in known))
