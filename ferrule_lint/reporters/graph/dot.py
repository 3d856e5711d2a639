"""A graph in the language of Graphviz."""

from __future__ import annotations

from pathlib import Path

from ferrule_lint.checks.graph import Graph
from ferrule_lint.reporters.graph.labels import is_asked, lines_of, role_of

_SHAPES = {"choice": "hexagon", "loop": "hexagon", "start": "oval", "end": "oval", "raise": "oval"}
_COLOURS = {
    "differs": ("#fde1e1", "#cd4246"),
    "cause": ("#fff3d6", "#c87619"),
    "event": ("#dcecff", "#2d72d2"),
    "ends": ("#ffffff", "#8f99a8"),
    "plain": ("#f6f7f9", "#8f99a8"),
}


def render(graph: Graph, root: Path, cwd: Path) -> str:
    """The text of a `.dot` file."""
    out = [
        f"digraph {_quoted(graph.title)} {{",
        '  node [style=filled, fontname="monospace", fontsize=10];',
        '  edge [fontname="monospace", fontsize=10];',
    ]
    for node in graph.nodes:
        fill, line = _COLOURS[role_of(node)]
        shape = _SHAPES.get(node.kind, "box")
        label = "\\n".join(_escaped(one) for one in lines_of(node, graph, root, cwd))
        width = 3 if is_asked(node, graph) else 1
        out.append(
            f'  n{node.id} [label="{label}", shape={shape}, fillcolor="{fill}", color="{line}", penwidth={width}];'
        )
    for edge in graph.edges:
        words = [f"label={_quoted(edge.label)}"] if edge.label else []
        if edge.cause:
            words += ["style=dashed", 'color="#c87619"']
        if edge.back:
            words.append("constraint=false")
        attributes = f" [{', '.join(words)}]" if words else ""
        out.append(f"  n{edge.source} -> n{edge.target}{attributes};")
    return "\n".join([*out, "}"])


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
