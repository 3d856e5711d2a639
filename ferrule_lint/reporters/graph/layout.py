"""Places for the nodes of a graph, in layers from top to bottom (after Sugiyama, Tagawa and Toda, 1981).

Edges go down, but for those back to the head of a loop. Nodes get the lowest layer that their edges allow, causes the
one right above what they explain; long edges get a point in each layer between; the order in a layer follows the
neighbours' (barycentres); so do the places across, as far as there is room.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: pixels between neighbours, and between layers
_ACROSS = 28.0
_DOWN = 46.0
_SWEEPS = 12
#: the width of a point
_POINT = 8.0


@dataclass(frozen=True, slots=True)
class Layout:
    """Centres of nodes, the points that each edge passes between its ends, and the size of the whole, in pixels."""

    centres: Mapping[int, tuple[float, float]]
    bends: tuple[tuple[tuple[float, float], ...], ...]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Link:
    """From one node to another. `cause`: the first explains the second. `back`: up, to the head of a loop.

    `after`: nodes that have to lie above the target for all that.
    """

    source: int
    target: int
    cause: bool = False
    back: bool = False
    after: tuple[int, ...] = ()


def place(sizes: Sequence[tuple[float, float]], links: Sequence[Link]) -> Layout:
    """Lay out nodes of these (width, height), numbered from 0, with these links between them."""
    layer = _layers(len(sizes), [link for link in links if not link.back])
    widths = [width for width, _ in sizes]
    chains: list[list[int]] = []
    # what runs back begins and ends at the right of a node in the same layer
    beside: dict[int, int] = {}
    steps: list[tuple[int, int]] = []
    for link in links:
        # a point in each layer that the edge passes; one that goes back runs beside its ends, too
        first, last = layer[link.source] + 1, layer[link.target]
        passed = range(layer[link.target], layer[link.source] + 1) if link.back else range(first, last)
        chain = list(range(len(layer), len(layer) + len(passed)))
        layer += passed
        widths += [_POINT] * len(passed)
        steps += itertools.pairwise(chain if link.back else [link.source, *chain, link.target])
        if link.back:
            beside |= {chain[0]: link.target, chain[-1]: link.source}
        chains.append(chain[::-1] if link.back else chain)
    rows = _ordered(layer, steps, beside)
    across = _across(rows, widths, steps, beside)
    tops, y = [], 0.0
    for row in rows:
        height = max((sizes[one][1] for one in row if one < len(sizes)), default=0.0)
        tops.append(y + height / 2)
        y += height + _DOWN
    left = min(across[one] - widths[one] / 2 for one in range(len(widths)))
    right = max(across[one] + widths[one] / 2 for one in range(len(widths)))
    places = [(across[one] - left, tops[layer[one]]) for one in range(len(layer))]
    return Layout(
        centres={one: places[one] for one in range(len(sizes))},
        bends=tuple(tuple(places[one] for one in chain) for chain in chains),
        width=right - left,
        height=y - _DOWN,
    )


def _layers(count: int, links: Sequence[Link]) -> list[int]:
    """The layer of each node: below all that lead to it; causes as low as what they explain allows."""
    downward = [pair for link in links for pair in ((one, link.target) for one in (link.source, *link.after))]
    incoming = [0] * count
    targets: list[list[int]] = [[] for _ in range(count)]
    for source, target in downward:
        incoming[target] += 1
        targets[source].append(target)
    layer = [0] * count
    ready = [node for node in range(count) if not incoming[node]]
    order: list[int] = []
    while ready:
        node = ready.pop(0)
        order.append(node)
        for target in targets[node]:
            layer[target] = max(layer[target], layer[node] + 1)
            incoming[target] -= 1
            if not incoming[target]:
                ready.append(target)
    causes = {link.source for link in links if link.cause}
    for node in reversed(order):
        if node in causes:
            layer[node] = min(layer[target] for target in targets[node]) - 1
    return layer


def _ordered(layer: Sequence[int], steps: Sequence[tuple[int, int]], beside: Mapping[int, int]) -> list[list[int]]:
    """The nodes of each layer from left to right."""
    rows: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for node, where in enumerate(layer):
        rows[where].append(node)
    above, below = _neighbours(len(layer), steps)
    for sweep in range(_SWEEPS):
        neighbours = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            rank = {node: place for one in rows for place, node in enumerate(one)}
            wanted = {node: _mean([rank[one] for one in neighbours[node]], rank[node]) for node in row}
            wanted |= {node: wanted[beside[node]] + 0.1 for node in row if node in beside}
            row.sort(key=wanted.__getitem__)
    return rows


def _across(
    rows: Sequence[Sequence[int]],
    widths: Sequence[float],
    steps: Sequence[tuple[int, int]],
    beside: Mapping[int, int],
) -> list[float]:
    """The horizontal centres: near those of the neighbours, in order, none over another."""
    centre = [0.0] * len(widths)
    for row in rows:
        x = -(sum(widths[one] for one in row) + _ACROSS * (len(row) - 1)) / 2
        for node in row:
            centre[node] = x + widths[node] / 2
            x += widths[node] + _ACROSS
    above, below = _neighbours(len(widths), steps)
    for sweep in range(_SWEEPS):
        neighbours = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            wanted = {node: _mean([centre[one] for one in neighbours[node]], centre[node]) for node in row}
            wanted |= {node: wanted[by] + widths[by] / 2 for node in row if (by := beside.get(node)) is not None}
            for node, x in zip(row, _apart(list(wanted.values()), [widths[node] for node in row]), strict=True):
                centre[node] = x
    return centre


def _apart(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Places near the wanted ones, in this order and with room between."""
    gaps = [(one + other) / 2 + _ACROSS for one, other in itertools.pairwise(widths)]
    rightward, leftward = list(wanted), list(wanted)
    for index, gap in enumerate(gaps):
        rightward[index + 1] = max(rightward[index + 1], rightward[index] + gap)
    for index in reversed(range(len(gaps))):
        leftward[index] = min(leftward[index], leftward[index + 1] - gaps[index])
    # both keep the room, so their mean does
    return [(one + other) / 2 for one, other in zip(rightward, leftward, strict=True)]


def _neighbours(count: int, steps: Sequence[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for source, target in steps:
        above[target].append(source)
        below[source].append(target)
    return above, below


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
