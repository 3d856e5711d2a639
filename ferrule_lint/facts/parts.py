"""The parts of a file that others read one by one, and whether two versions of it say the same in one.

A part says the same if it has the same nodes and its places lie as they did: the same order, and the same ones equal.
So a definition that was moved says what it said, and so does one in which comments or blank lines come and go. Whoever
shows a place shows a line of the file, and depends on its text (see `checks.remembered`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TypeAlias

from ferrule_lint.facts import types as f
from ferrule_lint.facts.outline import Facts, whole

#: what is asked of the identifiers of a file: whether one of some words is among them, or one that a pattern finds
Words: TypeAlias = frozenset[str] | re.Pattern[str]
#: a line and a column
Point: TypeAlias = tuple[int, int]
#: in place of the column of a line that is meant as a whole
WHOLE_LINE = -1


def speaks_of(names: frozenset[str], words: Words) -> bool:
    """The answer to a question about identifiers."""
    return not names.isdisjoint(words) if isinstance(words, frozenset) else any(map(words.search, names))


def written(words: Words) -> list[str]:
    """A question about identifiers as texts: the words, or a pattern after an empty text."""
    return sorted(words) if isinstance(words, frozenset) else ["", words.pattern, str(words.flags)]


def read(texts: Sequence[str]) -> Words:
    """The question that was `written` so."""
    return re.compile(texts[1], int(texts[2])) if texts[:1] == [""] else frozenset(texts)


def part_of_lambda(root: str, owner: str | None) -> tuple[str, str] | None:
    """Where a lambda stands that is nested in no function: in a class, or at the top level; None for a function."""
    if not root.rpartition(".")[2].startswith("<lambda"):
        return None
    return ("class", owner) if owner is not None else ("top", "")


class Version:
    """A file's facts, part by part."""

    def __init__(self, facts: Facts, without: Collection[str] = ()) -> None:
        """`without`: functions of whose definitions the top level says nothing."""
        self._facts = facts
        self._without = without
        self._parts: dict[tuple[str, str], list[object]] | None = None

    def part(self, kind: str, name: str) -> tuple[object, ...] | None:
        """A part, as something that says whether it is equal to another; None if there is no such part."""
        if self._parts is None:
            self._parts = _cut(whole(self._facts), self._without)
        nodes = self._parts.get((kind, name))
        return None if nodes is None else _wherever(nodes)[0]

    def places_now(self, other: Version) -> dict[Point, Point]:
        """Where the places of the parts that say the same in another version are there. Of each line by itself, too."""
        mine, theirs = (version._all() for version in (self, other))
        found: dict[Point, Point] = {}
        for key, (said, points) in mine.items():
            if key in theirs and theirs[key][0] == said:
                for place, now in zip(points, theirs[key][1], strict=True):
                    found[place] = now
                    found[place[0], WHOLE_LINE] = now[0], WHOLE_LINE
        return found

    def _all(self) -> dict[tuple[str, str], tuple[tuple[object, ...], list[Point]]]:
        self.part("", "")
        assert self._parts is not None
        return {key: _wherever(nodes) for key, nodes in self._parts.items() if key[0] != "bodies"}


def _cut(facts: f.FileFacts, without: Collection[str]) -> dict[tuple[str, str], list[object]]:
    top = tuple([s for s in facts.body if type(s) is not f.FunctionDef or s.qualname not in without])
    parts: dict[tuple[str, str], list[object]] = {("top", ""): [top], ("bodies", ""): [*facts.functions]}
    for info in facts.classes:
        parts[("class", info.qualname)] = [info]
    known = {function.qualname: function for function in facts.functions}
    for function in facts.functions:
        root = function
        while root.parent is not None and root.parent in known:
            root = known[root.parent]
        parts.setdefault(part_of_lambda(root.qualname, root.owner) or ("body", root.qualname), []).append(function)
    return parts


def said(nodes: list[object]) -> tuple[object, ...]:
    """What nodes say, wherever they stand."""
    return _wherever(nodes)[0]


def _wherever(nodes: list[object]) -> tuple[tuple[object, ...], list[Point]]:
    """Nodes as flat values, whatever lines and columns they stand in: of these only the order; and their places."""
    said: list[object] = []
    points: list[tuple[int, int]] = []
    stack: list[object] = nodes[::-1]
    while stack:
        item = stack.pop()
        if not isinstance(item, tuple):
            said.append(item)
        elif type(item) is tuple:
            said.append(len(item))
            stack += item[::-1]
        else:
            head, fields, place, line, column = _LAYOUT[type(item)]
            said.append(head)
            if place >= 0:
                first, left, last, right = item[place]
                points += (first, left), (last, right)
            if line >= 0:
                points.append((item[line], 0 if column < 0 else item[column]))
            stack += [item[number] for number in fields]
    ordered = sorted(set(points))
    ranks = {point: rank for rank, point in enumerate(ordered)}
    lines = {line: rank for rank, line in enumerate(sorted({line for line, _ in points}))}
    places = tuple([ranks[point] for point in points]), tuple([lines[line] for line, _ in points])
    return (tuple(said), *places), ordered


def _layout(node: type) -> tuple[str, tuple[int, ...], int, int, int]:
    """The name of a class of nodes, its fields but for those that say where it stands, the last first; and these."""
    names: tuple[str, ...] = node._fields  # type: ignore[attr-defined]
    where = {"pos", "line", "column"} if node is not f.SuppressionComment else set()
    rest = tuple(number for number in reversed(range(len(names))) if names[number] not in where)
    pos, line, column = (names.index(name) if name in names else -1 for name in ("pos", "line", "column"))
    return node.__name__, rest, pos, line, column


_LAYOUT = {node: _layout(node) for node in f.NODES}
