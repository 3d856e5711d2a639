"""Walking over facts. The only place that knows that a node is a tuple of nodes, texts and numbers."""

from __future__ import annotations

from collections.abc import Iterator


def walk(node: object) -> Iterator[object]:
    """Every tuple at or below `node`: nodes, positions and sequences of either, an outer one before its parts."""
    stack = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            yield item
            stack += [part for part in item if isinstance(part, tuple)]
