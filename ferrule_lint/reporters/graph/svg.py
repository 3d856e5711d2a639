"""A graph as one SVG picture that loads nothing."""

from __future__ import annotations

import itertools
from html import escape
from pathlib import Path

from ferrule_lint.checks.graph import DONE, Edge, Graph, Node
from ferrule_lint.reporters.graph.labels import is_asked, lines_of, role_of
from ferrule_lint.reporters.graph.layout import Link, place
from ferrule_lint.reporters.text import width

_CHARACTER = 7.3
_LINE = 16.0
_PADDING = 10.0
_MARGIN = 24.0

_STYLE = """\
svg { background: #ffffff; }
text { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1c2127; }
.place { fill: #5f6b7c; font-size: 11px; }
.label { fill: #5f6b7c; }
.box { stroke: #8f99a8; fill: #f6f7f9; stroke-width: 1.2; }
.event .box { fill: #dcecff; stroke: #2d72d2; }
.differs .box { fill: #fde1e1; stroke: #cd4246; }
.cause .box { fill: #fff3d6; stroke: #c87619; }
.ends .box { fill: #ffffff; }
.asked .box { stroke-width: 3; }
.edge { fill: none; stroke: #5f6b7c; stroke-width: 1.2; }
.edge.cause { stroke: #c87619; stroke-dasharray: 4 3; }
marker path { fill: #5f6b7c; }
#because path { fill: #c87619; }
"""

_Point = tuple[float, float]


def render(graph: Graph, root: Path, cwd: Path) -> str:
    """The picture."""
    texts = [lines_of(node, graph, root, cwd) for node in graph.nodes]
    sizes = [_size(node, lines) for node, lines in zip(graph.nodes, texts, strict=True)]
    layout = place(sizes, [_link(edge, graph) for edge in graph.edges])
    across, down = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    body: list[str] = []
    boxes = {one: (x, y, *sizes[one]) for one, (x, y) in layout.centres.items()}
    for edge, bends in zip(graph.edges, layout.bends, strict=True):
        source, target = boxes[edge.source], boxes[edge.target]
        if edge.back:
            path = _up(source, bends, target)
            start = (bends[0][0], source[1] - 13)
        else:
            start = _side(source, 1)
            path = _curve([start, *bends, _side(target, -1)])
        body += _edge(edge, path, start, (*bends, _side(target, -1))[0][0])
    for node, lines in zip(graph.nodes, texts, strict=True):
        body += _node(node, lines, boxes[node.id], is_asked(node, graph))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{across:.0f}" height="{down:.0f}" '
            f'viewBox="0 0 {across:.0f} {down:.0f}" role="img">',
            f"<title>{_text(graph.title)}: collectives, and why ranks may part</title>",
            f"<style>\n{_STYLE}</style>",
            "<defs>",
            *(_arrow(name) for name in ("flow", "because")),
            "</defs>",
            f'<g transform="translate({_MARGIN:.0f} {_MARGIN:.0f})">',
            *body,
            "</g>",
            "</svg>",
        ]
    )


def _size(node: Node, lines: tuple[str, ...]) -> tuple[float, float]:
    across = max(width(line) for line in lines) * _CHARACTER + 2 * _PADDING
    if node.kind in ("choice", "loop"):
        # room for the slanted ends
        across += 2 * _PADDING
    return across, len(lines) * _LINE + _PADDING


def _arrow(name: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z"/></marker>'
    )


def _node(node: Node, lines: tuple[str, ...], box: tuple[float, ...], asked: bool) -> list[str]:
    x, y, across, down = box
    left, top = x - across / 2, y - down / 2
    if node.kind in ("choice", "loop"):
        slant = _PADDING
        corners = [
            (left, y),
            (left + slant, top),
            (left + across - slant, top),
            (left + across, y),
            (left + across - slant, top + down),
            (left + slant, top + down),
        ]
        shape = f'<polygon class="box" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}"/>'
    else:
        round_ = down / 2 if node.kind in ("start", "end", "raise") else 4
        size = f'width="{across:.1f}" height="{down:.1f}"'
        shape = f'<rect class="box" x="{left:.1f}" y="{top:.1f}" {size} rx="{round_:.0f}"/>'
    texts = []
    for number, line in enumerate(lines):
        below = top + _PADDING / 2 + _LINE * (number + 0.75)
        place_ = ' class="place"' if node.line and number == len(lines) - 1 else ""
        texts.append(f'<text{place_} x="{x:.1f}" y="{below:.1f}" text-anchor="middle">{_text(line)}</text>')
    return [f'<g class="node {role_of(node)}{" asked" if asked else ""}">', shape, *texts, "</g>"]


def _link(edge: Edge, graph: Graph) -> Link:
    """What comes when a loop is done lies below all that is in it."""
    after: tuple[int, ...] = ()
    if edge.label == DONE and not edge.back:
        after = tuple(one.source for one in graph.edges if one.back and one.target == edge.source)
    return Link(edge.source, edge.target, edge.cause, edge.back, after)


def _edge(edge: Edge, path: str, start: _Point, toward: float) -> list[str]:
    kind = "edge cause" if edge.cause else "edge"
    arrow = "because" if edge.cause else "flow"
    out = [f'<path class="{kind}" d="{path}" marker-end="url(#{arrow})"/>']
    if edge.label:
        x, y = start
        shift, anchor = (6, "start") if toward >= x else (-6, "end")
        at = f'x="{x + shift:.1f}" y="{y + 13:.1f}" text-anchor="{anchor}"'
        out.append(f'<text class="label" {at}>{_text(edge.label)}</text>')
    return out


def _curve(points: list[_Point]) -> str:
    """A smooth line that leaves and enters its points vertically."""
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x, y), (to_x, to_y) in itertools.pairwise(points):
        middle = (y + to_y) / 2
        path += f" C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"
    return path


def _up(source: tuple[float, ...], bends: tuple[_Point, ...], target: tuple[float, ...]) -> str:
    """From the side of a node, up through points beside it and beside another, to that one's side."""
    (x, y), (to_x, to_y) = bends[0], bends[-1]
    start = source[0] + source[2] / 2 * (1 if x > source[0] else -1)
    end = target[0] + (target[2] / 2 + 2) * (1 if to_x > target[0] else -1)
    if len(bends) == 1:
        return f"M{start:.1f} {y:.1f} L{end:.1f} {to_y:.1f}"
    leave = f"M{start:.1f} {y:.1f} Q{x:.1f} {y:.1f}"
    way = _curve([(x, y - 14), *bends[1:-1], (to_x, to_y + 14)]).removeprefix("M")
    return f"{leave} {way} Q{to_x:.1f} {to_y:.1f} {end:.1f} {to_y:.1f}"


def _side(box: tuple[float, ...], direction: int) -> _Point:
    """The middle of the lower (1) or upper (-1) side of a node."""
    x, y, _, down = box
    return x, y + direction * (down / 2 + (2 if direction < 0 else 0))


def _text(text: str) -> str:
    return escape(text, quote=True)
