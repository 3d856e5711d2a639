"""What is looked up in a table by local data: `names[batch.kind[0]]`, another entry for what each rank has before it;
or at places that each rank has drawn for itself.

That entries differ is as good as certain, and nothing yet: like the content of a tensor, it counts once somebody asks
what it is, or makes it the key of a dict. One thing is looked up by one number or word; what is chosen by a tensor of
positions, or by a mask, is a selection (`selection`), and by its content no more local than it was.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: what holds one for each sample or token
_MANY = re.compile(r"(?i)(s|mask|idx|indice|perm|order)$")


def of_entry(frame: Frame, e: f.Subscript, base: Value, index: Value, value: Value) -> Value:
    """An entry of a table of which nothing is known to differ, chosen by what is the rank's own."""
    if value.data is not None or base.divergence is not None or base.container:
        return value
    own = _own(frame, e, index)
    if own is None:
        return value
    what = "the rank's own data" if own.kind == "data" else "what this process has for itself"
    step = frame.step("flow", e.pos, f"`{shown(e)}` is looked up by {what}")
    return value._replace(data=own.then(step).at_most(Confidence.MEDIUM), uniform=False)


def of_field(frame: Frame, e: f.Attr, base: Value, value: Value) -> Value:
    """A field of an object of a known class that was looked up so: `sources[batch.kind].label`."""
    if base.data is None or value.data is not None or value.divergence is not None or value.const is not None:
        return value
    entry = definition(frame, e.base)
    if type(entry) is not f.Subscript or not is_entry(frame, entry):
        return value
    return value._replace(data=base.data, uniform=False)


def is_entry(frame: Frame, e: f.Subscript) -> bool:
    """Whether an entry is chosen by what is the rank's own."""
    return _own(frame, e, frame.ask(e.index)) is not None


def _own(frame: Frame, e: f.Subscript, index: Value) -> Divergence | None:
    if index.divergence is not None:
        return index.divergence if index.divergence.kind in ("data", "host") else None
    if index.data is None or index.boolean or index.shape is not None:
        return None
    if index.data.kind == "host":  # places that each rank has drawn for itself
        return index.data
    return index.data if index.data.kind == "data" and _is_one(frame, definition(frame, e.index)) else None


def _is_one(frame: Frame, expr: f.Expr) -> bool:
    """Whether a place or a key is one, as far as its text says: `which[0]`, `sample["task"]`, `batch.kind`, `task`."""
    if type(expr) is f.Subscript and type(expr.index) is f.Const:
        key = expr.index.text
        if key[:1] not in "'\"":
            return _names_no_tensor(frame, last_name(expr.base))
        return _is_name_of_one(frame, key.strip("'\""))
    return type(expr) in (f.Attr, f.Name) and _is_name_of_one(frame, last_name(expr))


def _is_name_of_one(frame: Frame, name: str) -> bool:
    return not _MANY.search(name) and _names_no_tensor(frame, name)


def _names_no_tensor(frame: Frame, name: str) -> bool:
    models = frame.models
    return all(models.convention(what, name) is None for what in ("content", "tensor", "data"))
