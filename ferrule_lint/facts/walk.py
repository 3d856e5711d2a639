"""Walking over facts. The only place that knows that a node is a tuple of nodes, texts and numbers."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f

#: what has a text and a position, and no parts
_LEAVES = frozenset({f.Name, f.Const})


def walk(node: object) -> Iterator[object]:
    """Every tuple at or below `node`: nodes, and sequences of them, an outer one before its parts."""
    if not isinstance(node, tuple):
        return
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        if type(item) not in _LEAVES:
            stack += [part for part in item if isinstance(part, tuple)]
