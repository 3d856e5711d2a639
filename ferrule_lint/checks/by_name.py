"""Ways out that are told from the name of a parameter alone.

That `speech` or `input_ids` are the rank's own is known of training, which feeds each rank with other samples. A model
that generates is asked the same on all ranks that have a part of it, or one rank runs a copy of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ferrule_lint.semantics.divergence.compare import Occurrence
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.trace import Trace, every_event

_OF_TRAINING = frozenset(("backward", "clip_grad_norm_"))


def is_guess(root: Trace, function: str, divergence: Divergence, occurrences: Sequence[Occurrence]) -> bool:
    """Whether nothing but a name says that ranks differ in when they stop, and nothing but how other modules are
    wrapped that this one communicates, in a function that trains nothing and is not what training calls."""
    if not divergence.assumed or not all(o.event.assumed for o in occurrences):
        return False
    if function.rpartition(".")[2] in ("forward", "__call__"):
        return False
    return all(event.op not in _OF_TRAINING for event in every_event(root))
