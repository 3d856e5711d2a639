"""Buffers that one rank's DDP sends before a forward without gradients, and the others' before their next forward.

DDP sends buffers before the first forward behind one with gradients. A rank that evaluates alone sends them there, and
not before the next step of training, where the others do: each rank sends them as often, and they pair as long as
nothing else is issued in between.

https://github.com/pytorch/pytorch/blob/main/torch/nn/parallel/distributed.py (`require_forward_param_sync`)
"""

from __future__ import annotations

from collections.abc import Collection

from ferrule_lint.semantics.calls.forwards import is_of_buffers, is_of_first, made_in
from ferrule_lint.semantics.divergence.compare import Difference
from ferrule_lint.semantics.divergence.evidence import what_follows
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.trace import Attempt, CallTerm, Choice, Event, Exit, Loop, Trace, has_exit

#: calls below each other in which the first event is looked for
_DEEPEST = 6


def pairs_later(root: Trace, choice: Choice, found: Difference) -> bool:
    """Whether all that some ranks alone issue are buffers of modules which the others send next, or what these come to
    next is not seen: behind a `return` it is up to the callers."""
    if not all(o.once for o in found.occurrences):
        return False
    ways = {has_exit(choice.body), has_exit(choice.orelse)} - {""}
    if found.after_exit and ways <= {"return"}:
        return True
    own = frozenset((o.call or o.event).pos for o in found.occurrences)
    first: list[Event] = []
    _first(what_follows(root, choice) or (), choice, own, first, 0)
    modules = [(o.event.module, o.event.channel, o.call is None) for o in found.occurrences]
    return all(is_of_buffers(e) and any(_is_same(e, *module) for module in modules) for e in first)


def _is_same(event: Event, module: str, channel: str, here: bool) -> bool:
    """Whether a forward may be one of this module: by their classes, or by what both are called in one function."""
    if event.module and module:
        return event.module == module
    return not here or event.channel == channel


def _first(trace: Trace, choice: Choice, own: Collection[object], found: list[Event], depth: int) -> bool:
    """The events that may come first in a trace, but for those of a choice and its like; True where nothing behind it
    comes first."""
    for term in trace:
        if term is choice or getattr(term, "pos", None) in own:
            continue
        if type(term) is Event:
            found.append(term)
            return True
        if type(term) is CallTerm and term.summary.events:
            inner: list[Event] = []
            if depth < _DEEPEST and term.summary.trace:
                _first(term.summary.trace, choice, own, inner, depth + 1)
            found += [made_in(term, e) for e in inner or term.summary.events]
            return True
        if type(term) is Choice:
            arms: list[Event] = []
            sure = [_first(arm, choice, own, arms, depth) for arm in (term.body, term.orelse)]
            alone = divergence_of(term.formula) is not None
            # what one rank alone evaluates further on it has sent before as well
            found += [e for e in arms if not (alone and is_of_first(e))]
            if all(sure):
                return True
        elif type(term) is Loop or type(term) is Attempt:
            if _first(term.body, choice, own, found, depth):
                return True
        elif type(term) is Exit:
            return True
    return False
