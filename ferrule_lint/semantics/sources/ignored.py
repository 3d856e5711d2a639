"""Labels that do not count: `mask = labels != -100`, `targets == self.ignore_index`.

Which places of a batch are left out of the loss is up to the batch, whatever the labels are called and wherever they
are kept: a rank may have a batch in which none is left.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: what PyTorch's losses leave out if nothing else is said
_NUMBER = "-100"
_NAMED = re.compile(r"(^|_)ignored?_?(index|idx|id|label|token_id)$", re.IGNORECASE)


def mask(frame: Frame, e: f.Compare, left: Value, right: Value) -> Value | None:
    """What a comparison with the number of ignored labels yields, where nothing else is known of the labels."""
    if frame.light or len(e.ops) != 1 or e.ops[0] not in ("==", "!="):
        return None
    for number, text, labels in ((right, e.rights[0], left), (left, e.left, right)):
        if (number.const == _NUMBER or _NAMED.search(last_name(text))) and _is_open(labels):
            note = f"which labels `{shown(e)}` leaves out is up to the rank's own batch"
            data = frame.source(DP, "data", e.pos, note, Confidence.MEDIUM)
            # for callers it is no more than what their labels are
            return Value(data=data._replace(assumed=bool(labels.deps)), deps=labels.deps, boolean=True)
    return None


def _is_open(value: Value) -> bool:
    known = (value.divergence, value.data, value.presence, value.const, value.items, value.group)
    return not (value.uniform or value.agreed or any(v is not None for v in known))
