"""Fields of samples: `for sample in batch: total += len(sample["input_ids"])`.

What a batch is walked for are samples, if their fields are asked for; each has a text of its own length, and so has
each rank in sum. Of the parts that a batch is cut into (`for chunk in chunks`) one field has as many rows as another.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.dependences import OBSERVED, only
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: one batch by its name, which is walked for its samples, or for the tensors in it
_ONE_BATCH = re.compile(r"\w*batch", re.IGNORECASE)
#: what is no sample by its name
_PARTS = re.compile(r"batch|^mb$|chunk|shard|part|split|group", re.IGNORECASE)


def walked(frame: Frame, target: f.Expr, iterable: f.Expr, asked: object, value: Value) -> Value:
    """What a loop over a batch goes by, if `asked` (what is done in each round) asks it for the tokens of a sample."""
    if value.data is None or value.length is not None or type(target) is not f.Name or _PARTS.search(target.id):
        return value
    if type(iterable) is not f.Name or _ONE_BATCH.fullmatch(iterable.id) is None:
        return value
    for node in nodes(asked, f.Subscript):
        if type(node.base) is f.Name and node.base.id == target.id and _is_text(frame, node.index):
            return value._replace(length=value.data.at_most(Confidence.MEDIUM))
    return value


def of_entry(frame: Frame, e: f.Subscript, base: Value, value: Value) -> Value:
    """An entry of a sample that holds its tokens: there are as many as the sample has."""
    local = base.data is not None and base.length is not None and not base.container and not base.data.sized
    handed = base.data is None and bool(base.length_deps)
    if not (local or handed) or not _is_text(frame, e.index):
        return value
    if base.data is not None:
        note = f"`{shown(e)}` is as long as the text of this rank's sample"
        return value._replace(length=base.data.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM))
    return value._replace(length_deps=value.length_deps | only(base.length_deps, OBSERVED, OBSERVED))


def _is_text(frame: Frame, key: f.Expr) -> bool:
    name = key.text.strip("'\"") if type(key) is f.Const and key.text[:1] in "'\"" else ""
    return bool(name) and frame.models.convention("ragged", name) is not None
