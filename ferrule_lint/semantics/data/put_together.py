"""Containers that are put together of others: `{**losses, "image": x}`, `found | more`, `xs + [x]`, `[x, *xs]`.

Which places the new one has follows from those of its parts, where these are known; and where a part is longer on some
ranks, so is the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.dependences import FLOWS, only
from ferrule_lint.semantics.domain.joins import join
from ferrule_lint.semantics.domain.lattice import Divergence, Value, worse

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments


def as_large_as(value: Value, items: Sequence[Value]) -> Value:
    """What gets the items of a list that is written out, of sizes callers know: `kept.extend([x])`, `kept += [x]`."""
    own = only(join(items).deps, FLOWS, FLOWS)
    return value._replace(shape_deps=value.shape_deps | own, uneven_last=value.uneven_last or bool(own))


def side_by_side(parts: Sequence[frozenset[str] | None]) -> frozenset[str] | None:
    """The places of lists that follow one another."""
    count = 0
    for part in parts:
        if part is None or not all(slot.isdigit() for slot in part):
            return None
        count += len(part)
    return frozenset(map(str, range(count)))


def over_another(parts: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    """The keys of dicts that are laid over one another; the places of a list are numbers."""
    found: frozenset[str] = frozenset()
    for part in parts:
        if part is None or any(slot.isdigit() for slot in part):
            return None
        found |= part
    return found


def of_dict(e: f.DictDisplay, values: Sequence[Value]) -> tuple[frozenset[str] | None, Divergence | None]:
    """The keys of a dict as it is written, and why it has more of them on some ranks: by what is spread out in it."""
    parts = [value.slots if key is None else _key(key) for key, value in zip(e.keys, values, strict=True)]
    longer: Divergence | None = None
    for key, value in zip(e.keys, values, strict=True):
        longer = worse(longer, value.length) if key is None else longer
    known = [part for part in parts if part is not None]
    return (frozenset().union(*known) if len(known) == len(parts) else None), longer


def _key(expr: f.Expr) -> frozenset[str] | None:
    return frozenset({expr.text}) if type(expr) is f.Const else None


def of_list(e: f.Sequence, values: Sequence[Value]) -> tuple[frozenset[str] | None, Divergence | None]:
    """The same of a list or tuple, some of whose items are spread out."""
    parts: list[frozenset[str] | None] = []
    longer: Divergence | None = None
    for item, value in zip(e.elements, values, strict=True):
        starred = type(item) is f.Starred
        parts.append(value.slots if starred else frozenset({"0"}))
        if starred and (value.container or value.slots is not None):
            longer = worse(longer, value.length)
    return side_by_side(parts), longer


def of_operator(kind: str, values: Sequence[Value]) -> frozenset[str] | None:
    """The places of `a + b`, of lists, and of `a | b`, of dicts."""
    parts = [value.slots for value in values]
    if kind == "Add":
        return side_by_side(parts)
    return over_another(parts) if kind == "BitOr" else None


def is_filled_here(known: Value, added: Value) -> bool:
    """Whether it is known to what a dict or list is added how many are added: `losses.update(extra)`, where this
    function, or one that made it, has filled it. How many items local data has is the same on all ranks mostly."""
    if added.length is None or not (known.container or known.slots is not None):
        return False
    return added.container or added.slots is not None or (added.there and added.data is None)


def by_keywords(arguments: Arguments) -> frozenset[str] | None:
    """The keys that `dict(found, a=x)` and `update(found, a=x)` are given."""
    if arguments.is_open or len(arguments.positional) > 1:
        return None
    given = [value.slots for value in arguments.positional]
    return over_another([*given, frozenset(map(repr, arguments.keywords))])
