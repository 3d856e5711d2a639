"""What the gradient of a value flows back to: the outputs of modules; see `participation`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.semantics.domain.dependences import NOTHING, Deps

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.lattice import Divergence


class Partly(NamedTuple):
    """An output that a value's gradient flows back to on some ranks only: under a condition that differs, or that
    depends on parameters. `at`: where the other way gets its constant."""

    output: str
    divergence: Divergence | None
    deps: Deps
    at: tuple[int, int, int, int] | None
    #: a parameter that one arm goes on with and the other leaves out: only who passes it knows what it is
    left_out: bool = False


class Reach(NamedTuple):
    """The outputs of modules that a value's gradient flows back to; see `participation`."""

    outputs: frozenset[str] = NOTHING
    partly: frozenset[Partly] = NOTHING
    #: where a constant was assigned
    at: tuple[int, int, int, int] | None = None


@lru_cache(maxsize=4096)
def reach_of(output: str) -> Reach:
    """What flows back to one output and nothing else."""
    return Reach(frozenset([output]))


#: certainly without a gradient
DETACHED = Reach()
#: the output that stands for all parameters of the module itself
OWN = "*"
#: the part of an output that is the module's own loss, and what that is made of
_LOSS, _IN_LOSS = "loss", frozenset({"logits", "hidden_states", "last_hidden_state"})
#: the same where they are put into the loss one by one
EVERY = "*~"


def reaching(a: Reach | None, b: Reach | None) -> Reach | None:
    """What a combination of two values reaches: all that either does."""
    if a is None or b is None or a == b:
        return a or b
    outputs = a.outputs | b.outputs or NOTHING
    partly = a.partly | b.partly or NOTHING
    if partly and outputs:
        partly = frozenset(p for p in partly if not covered(p.output, outputs)) or NOTHING
    return Reach(outputs, partly, None if outputs or partly else b.at or a.at)


def covered(output: str, outputs: frozenset[str]) -> bool:
    """Whether an output is among others: itself, the whole of which it is a part, or a part of it.

    A parameter that is a module stands for its output where it was passed on (`=model` for `model`). The loss that a
    language model puts out beside its logits is made of them.
    """
    if output in outputs or OWN in outputs or EVERY in outputs:
        return True
    name, _, part = output.lstrip("=").partition("#")
    name = name.rstrip("~")
    for other in outputs:
        known, _, known_part = other.lstrip("=").partition("#")
        if known.rstrip("~") == name and (
            not part or known_part in ("", part) or (known_part == _LOSS and part in _IN_LOSS)
        ):
            return True
    return False
