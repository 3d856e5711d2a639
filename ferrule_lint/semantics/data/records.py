"""Records: what a dict holds under keys that are written out, or an object in its fields."""

from __future__ import annotations

from collections.abc import Mapping

from ferrule_lint.semantics.domain.lattice import Value

#: an object that has the fields it is given, and nothing else
NAMESPACE = "types.SimpleNamespace"
#: entries of a dict that are told apart
MOST_ENTRIES = 16
#: records in records that are: a state that is put into the next one (`state = step(state)`) has no end of them
DEEPEST = 3


def entries_of(named: Mapping[str, Value], told: bool = False) -> tuple[tuple[str, Value], ...]:
    """Entries by the text of their key, or fields by name; none where nothing in them tells anything.
    `told`: something does in any case."""
    if len(named) > MOST_ENTRIES or not (told or any(v.tells or v.is_flag for v in named.values())):
        return ()
    return tuple(named.items())


def with_entry(entries: tuple[tuple[str, Value], ...], key: str, value: Value) -> tuple[tuple[str, Value], ...]:
    """Entries with another one, the last, in place of what was under its key."""
    return (*((k, v) for k, v in entries if k != key), (key, value))


def cut(value: Value, levels: int = DEEPEST) -> Value:
    """A value whose entries, and the entries of these, are told apart only so deep: further down lies what the whole
    says of itself."""
    if not value.entries:
        return value
    if levels <= 0:
        return value._replace(entries=(), keyed=None)
    return value._replace(entries=tuple([(key, cut(entry, levels - 1)) for key, entry in value.entries]))
