"""A graph as a Mermaid flowchart, which GitHub, GitLab and others draw where it stands."""

from __future__ import annotations

from pathlib import Path

from ferrule_lint.checks.graph import Graph
from ferrule_lint.reporters.graph.labels import is_asked, lines_of, role_of

_SHAPES = {
    "choice": ("{{", "}}"),
    "loop": ("{{", "}}"),
    "start": ("([", "])"),
    "end": ("([", "])"),
    "raise": ("([", "])"),
}
_CLASSES = {
    "differs": "fill:#fde1e1,stroke:#cd4246",
    "cause": "fill:#fff3d6,stroke:#c87619",
    "event": "fill:#dcecff,stroke:#2d72d2",
    "ends": "fill:#ffffff,stroke:#8f99a8",
    "plain": "fill:#f6f7f9,stroke:#8f99a8",
    "asked": "stroke-width:3px",
}
#: characters that mean something in a quoted label
_CODES = {character: f"#{ord(character)};" for character in '#"&<>`'}


def render(graph: Graph, root: Path, cwd: Path) -> str:
    """The text of a `.mmd` file."""
    out = ["flowchart TD"]
    for node in graph.nodes:
        opening, closing = _SHAPES.get(node.kind, ("[", "]"))
        label = "<br>".join(_escaped(one) for one in lines_of(node, graph, root, cwd))
        out.append(f'  n{node.id}{opening}"{label}"{closing}')
    for edge in graph.edges:
        line = "-.->" if edge.cause else "-->"
        label = f'|"{_escaped(edge.label)}"|' if edge.label else ""
        out.append(f"  n{edge.source} {line}{label} n{edge.target}")
    members: dict[str, list[str]] = {}
    for node in graph.nodes:
        members.setdefault(role_of(node), []).append(f"n{node.id}")
        if is_asked(node, graph):
            members.setdefault("asked", []).append(f"n{node.id}")
    for name, ones in sorted(members.items()):
        out += [f"  classDef {name} {_CLASSES[name]}", f"  class {','.join(ones)} {name}"]
    return "\n".join(out)


def _escaped(text: str) -> str:
    return "".join(_CODES.get(character, character) for character in text)
