"""What is written on nodes, and in which role they are drawn."""

from __future__ import annotations

import textwrap
from pathlib import Path

from ferrule_lint.checks.graph import Graph, Node
from ferrule_lint.reporters.paths import shown_path
from ferrule_lint.reporters.text import visible

#: characters in a line of a node
_WIDTH = 36
_MOST_LINES = 4


def lines_of(node: Node, graph: Graph, root: Path, cwd: Path) -> tuple[str, ...]:
    """The label, folded and cut, and the place below it."""
    folded = textwrap.wrap(visible(node.label), _WIDTH) or [""]
    if len(folded) > _MOST_LINES:
        folded = [*folded[: _MOST_LINES - 1], folded[_MOST_LINES - 1][: _WIDTH - 3] + "..."]
    if not node.line:
        return tuple(folded)
    place = f"line {node.line}"
    if node.path and node.path != graph.path:
        place = f"{visible(shown_path(node.path, root, cwd))}:{node.line}"
        place = place if len(place) <= _WIDTH else "..." + place[3 - _WIDTH :]
    return (*folded, place)


def role_of(node: Node) -> str:
    """How a node is drawn: "differs", "cause", "event", "ends" or "plain"."""
    if node.kind in ("source", "flow"):
        return "cause"
    if node.differs:
        return "differs"
    if node.kind in ("event", "call"):
        return "event"
    return "ends" if node.kind in ("start", "end", "raise") else "plain"


def is_asked(node: Node, graph: Graph) -> bool:
    """Whether a node stands in the line that was asked about."""
    return node.line == graph.line and node.path in ("", graph.path) and node.kind not in ("source", "flow")
