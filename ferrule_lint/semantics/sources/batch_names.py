"""The batch of a step by its name: `losses, batch = pipeline.progress(train_iterator)`.

What a call draws from a loader, or from an iterator over one, and is called a batch is the rank's own, unless a name
says that the ranks have met over it. Asked where nothing is known of the call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.sources.named_results import arguments_of_unknown, own

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_BATCH = re.compile(r"_?(\w+_)?(micro_?|mini_?)?batch(_data|_dict)?")
#: it is no step's, or no rank's own
_SHARED = re.compile(r"reduce|gather|sync|global|all_|broadcast|bcast|dummy|fake|synthetic|num|size", re.IGNORECASE)


def of_target(frame: Frame, target: f.Expr, source: f.Expr, value: Value) -> Value:
    """What a name is bound to: a local batch, if its name says so and nothing else is known of the value."""
    arguments = arguments_of_unknown(frame, target, source, value, _BATCH, _SHARED)
    if not any(_yields_batches(frame, a) for a in arguments):
        return value
    return own(frame, target, value, "drawn from the rank's own batches")


def _yields_batches(frame: Frame, argument: f.Expr) -> bool:
    """Whether an argument is a loader, or an iterator over one, by what is known of it or by its name."""
    known = frame.env.get(place_name(argument))
    if known is not None and (known.loader or known.const is not None):
        return known.loader
    return frame.models.convention("loader", last_name(argument)) is not None
