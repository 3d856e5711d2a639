"""How many items `itertools` hands on: as many as are asked for, as long as a test holds, or without an end.

`islice(batches, n)` takes as many rounds as `n` says, where that differs; `cycle(share)` takes as many as whoever walks
it, whatever the share; `takewhile(test, items)` asks the items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import filtered
from ferrule_lint.semantics.data import filters
from ferrule_lint.semantics.domain.dependences import NO_DEPS, Deps
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value, worse
from ferrule_lint.semantics.domain.text import shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame


def cycle(frame: Frame, arguments: Arguments) -> Value:
    """`cycle(items)`: there is always one more."""
    return _handed_on(arguments)._replace(length=None, length_deps=NO_DEPS)


def islice(frame: Frame, arguments: Arguments) -> Value:
    """`islice(items, n)`, and `islice(items, rank, None, world_size)`, which deals the items out and leaves some ranks
    one less."""
    items, counts = _handed_on(arguments), arguments.positional[1:]
    if len(counts) == 1 and counts[0].agreed:
        return items._replace(length=None)  # as many as all ranks have
    if len(counts) == 3 and counts[1].const == "None":
        rank = counts[0].divergence
        if items.multiple or rank is None or rank.kind != "rank":
            return items
        return _as_many(frame, arguments, items, rank, "takes another share on every rank")
    # `islice(items, n)`, and `islice(items, n, None)`, which passes over as many
    told = counts[0].divergence if len(counts) == 1 or [c.const for c in counts[1:]] == ["None"] else None
    if told is None or items.multiple:
        return items
    return _as_many(frame, arguments, items, told, "takes as many as this rank says")


def _as_many(frame: Frame, arguments: Arguments, items: Value, why: Divergence, how: str) -> Value:
    step = frame.step("condition", arguments.expr.pos, f"`{shown(arguments.expr)}` {how}")
    length = why.then(step).at_most(Confidence.MEDIUM)
    return items._replace(length=worse(items.length, length), uniform=False)


def by_test(frame: Frame, arguments: Arguments) -> Value:
    """`takewhile(test, items)`, `dropwhile(test, items)`: what each item holds says how many are left."""
    items = arguments.positional[1] if len(arguments.positional) > 1 else UNKNOWN
    length, deps = filters.of_all(frame, items, arguments.expr.pos)
    if arguments.positional:
        length = worse(length, filtered.by_content(frame, arguments.positional[0], items, arguments.expr))
    return _some_of(items, length, deps)


def compress(frame: Frame, arguments: Arguments) -> Value:
    """`compress(items, chosen)`"""
    items, chosen = (*arguments.positional, UNKNOWN, UNKNOWN)[:2]
    length, deps = filters.of_all(frame, chosen, arguments.expr.pos)
    return _some_of(items, length, deps)


def _some_of(items: Value, length: Divergence | None, deps: Deps) -> Value:
    return items._replace(
        items=None, const=None, uniform=False, target=None, length=items.length or length, length_deps=deps
    )


def _handed_on(arguments: Arguments) -> Value:
    first = arguments.positional[0] if arguments.positional else UNKNOWN
    return first._replace(const=None, target=None)
