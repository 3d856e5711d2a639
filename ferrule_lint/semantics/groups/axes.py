"""Group -> axes, by naming convention."""

from __future__ import annotations

import re

from ferrule_lint.models.lookup import ModelSet
from ferrule_lint.semantics.domain.axes import Axes

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: functions that hand out a group
GIVES_GROUP = re.compile(r"(_|^)(group|pg|mesh|comm)$")
_IGNORED = ("torch", "distributed", "self", "dist", "group", "get_group", "process_group", "mpu", "ps")


def axes_in(models: ModelSet, text: str) -> Axes | None:
    """The axes that the identifiers in `text` name (`self.tp_group`, `mesh["dp"]`), or None.

    The most specific wins: WORLD counts only when no axis is named.
    """
    found: set[str] = set()
    for word in _WORD.findall(text):
        if word in _IGNORED:
            continue
        axes = models.convention("axis", word)
        if axes:
            found.update(axes)
    if len(found) > 1:
        found.discard("world")
    return frozenset(found) or None


def names_group(name: str) -> bool:
    """Whether a parameter is for a group, by its name."""
    return "group" in name or name in ("pg", "mesh", "comm")
