"""Group -> axes, by naming convention."""

from __future__ import annotations

import re

from ferrule_lint.models.lookup import ModelSet
from ferrule_lint.semantics.domain.axes import DP, REPLICATE, SHARD, Axes

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: functions that hand out a group
GIVES_GROUP = re.compile(r"(_|^)(group|pg|mesh|comm)$")
_IGNORED = ("torch", "distributed", "self", "dist", "group", "get_group", "process_group", "mpu", "ps")


def axes_in(models: ModelSet, text: str) -> Axes | None:
    """The axes that the identifiers in `text` name (`self.tp_group`, `mesh["dp"]`), or None.

    The most specific wins: WORLD counts only when no axis is named.
    """
    found: set[str] = set()
    named: list[str] = []
    for word in _WORD.findall(text):
        if word in _IGNORED:
            continue
        axes = models.convention("axis", word)
        if axes:
            found.update(axes)
            named.append(word)
    if len(found) > 1:
        found.discard("world")
    if "dp" in found:
        return frozenset(found - DP) | _direction(" ".join(named))
    return frozenset(found) or None


#: what a group of the copies of each part is called, and one of the parts of each copy
_OF_COPIES = re.compile(r"replica(te)?(?!\w*shard)", re.IGNORECASE)
_OF_PARTS = re.compile(r"(?<![a-z])shard(s|ed|ing)?(?![a-z])", re.IGNORECASE)


def _direction(names: str) -> Axes:
    """Along which direction of data parallelism a group is: `mesh["dp_replicate"]`, `mesh["shard"]`, or both."""
    copies, parts = _OF_COPIES.search(names) is not None, _OF_PARTS.search(names) is not None
    return DP if copies == parts else REPLICATE if copies else SHARD


def names_group(name: str) -> bool:
    """Whether a parameter is for a group, by its name."""
    return "group" in name or name in ("pg", "mesh", "comm")
