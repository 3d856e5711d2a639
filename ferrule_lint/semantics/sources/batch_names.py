"""The batch of a step by its name: `losses, batch = pipeline.progress(train_iterator)`.

What a call draws from a loader, or from an iterator over one, and is called a batch is the rank's own, unless a name
says that the ranks have met over it. Asked where nothing is known of the call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_BATCH = re.compile(r"_?(\w+_)?(micro_?|mini_?)?batch(_data|_dict)?")
#: it is no step's, or no rank's own
_SHARED = re.compile(r"reduce|gather|sync|global|all_|broadcast|bcast|dummy|fake|synthetic|num|size", re.IGNORECASE)


def of_target(frame: Frame, target: f.Expr, source: f.Expr, value: Value) -> Value:
    """What a name is bound to: a local batch, if its name says so and nothing else is known of the value."""
    if type(target) is not f.Name or type(source) is not f.Call or not _BATCH.fullmatch(target.id):
        return value
    known = (value.divergence, value.data, value.const, value.items, value.group, value.target, value.presence)
    if frame.light or value.uniform or value.agreed or value.types or any(v is not None for v in known):
        return value
    if _SHARED.search(target.id) or _SHARED.search(last_name(source.func)):
        return value
    if not any(_yields_batches(frame, a) for a in (*source.args, *(v for _, v in source.keywords))):
        return value
    note = f"`{target.id}` is drawn from the rank's own batches"
    return value._replace(data=frame.source(DP, "data", target.pos, note, Confidence.MEDIUM))


def _yields_batches(frame: Frame, argument: f.Expr) -> bool:
    """Whether an argument is a loader, or an iterator over one, by what is known of it or by its name."""
    known = frame.env.get(place_name(argument))
    if known is not None and (known.loader or known.const is not None):
        return known.loader
    return frame.models.convention("loader", last_name(argument)) is not None
