"""A function's collectives as a graph: what is issued in which order, where ranks may part, what that comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ferrule_lint.findings import Step
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.trace import Attempt, CallTerm, Choice, Event, Exit, Loop, Trace

#: nodes of one graph; what comes after them is left out
MOST_NODES = 120
#: the label of what is next when a loop is done
DONE = "done"


@dataclass(frozen=True, slots=True)
class Node:
    """`kind`: "start", "end", "event", "call", "choice", "loop", "raise", "value", or of a cause "source" or "flow".

    `differs`: ranks may part here, or a value differs. `line` 0: no place in particular.
    """

    id: int
    kind: str
    label: str
    path: str = ""
    line: int = 0
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """From one node to another. `cause`: not control flow, but why a condition differs. `back`: to a loop's head."""

    source: int
    target: int
    label: str = ""
    cause: bool = False
    back: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """`line` of `path` is the one that was asked about."""

    title: str
    path: str
    line: int
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def graph_of(
    trace: Trace, title: str, path: str, line: int, values: Sequence[tuple[str, Iterable[tuple[Step, ...]]]]
) -> Graph:
    """The graph of a trace. `values` are those on the asked line that differ, with the ways that it comes about."""
    builder = _Builder(path)
    builder.flow(trace, title)
    for text, ways in values:
        builder.value(text, line, ways)
    return Graph(title, path, line, tuple(builder.nodes), tuple(dict.fromkeys(builder.edges)))


@dataclass(frozen=True, slots=True)
class _Loose:
    """An edge whose target is whatever comes next."""

    source: int
    label: str = ""


class _Builder:
    def __init__(self, path: str) -> None:
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self._path = path
        self._ends: list[_Loose] = []
        #: of the loops around: the head, and what leaves by `break`
        self._loops: list[tuple[int, list[_Loose]]] = []
        #: of the handlers around: what leads to the one in this line
        self._caught: dict[int, list[_Loose]] = {}
        self._steps: dict[Step, int] = {}

    def flow(self, trace: Trace, title: str) -> None:
        start = self._node("start", title)
        last = self._walk(trace, [_Loose(start)])
        end = self._node("end", "end")
        self._join([*last, *self._ends], end)

    def value(self, text: str, line: int, ways: Iterable[tuple[Step, ...]]) -> None:
        """A value that differs, unless it is a condition that is there already."""
        if any(node.line == line and node.kind in ("choice", "loop") and text in node.label for node in self.nodes):
            return
        self._because(self._node("value", f"`{text}` differs", self._path, line, True), ways)

    # ------------------------------------------------------------------ control flow
    def _walk(self, trace: Trace, loose: list[_Loose]) -> list[_Loose]:
        for term in trace:
            if not loose or len(self.nodes) >= MOST_NODES:
                break
            loose = self._term(term, loose)
        return loose

    def _term(self, term: object, loose: list[_Loose]) -> list[_Loose]:
        match term:
            case Event():
                axes = axes_text(term.axes)
                # what a hidden one is can only be told in words
                label = f"{term.note} (over {axes})" if term.hidden else f"{term.op} over {axes}"
                node = self._node("event", label, term.path, term.pos[0])
            case CallTerm():
                kinds = sorted({f"{one.op} over {axes_text(one.axes)}" for one in term.summary.events})
                label = f"calls `{term.summary.display}`: {', '.join(kinds)}"
                node = self._node("call", label, term.path, term.pos[0])
            case Choice():
                return self._choice(term, loose)
            case Loop():
                return self._loop(term, loose)
            case Attempt():
                return self._attempt(term, loose)
            case Exit():
                return self._exit(term, loose)
            case _:
                return loose
        self._join(loose, node)
        return [_Loose(node)]

    def _choice(self, term: Choice, loose: list[_Loose]) -> list[_Loose]:
        divergence = divergence_of(term.formula)
        node = self._node("choice", f"{term.form} `{term.text}`", term.path, term.pos[0], divergence is not None)
        self._join(loose, node)
        self._differs(node, divergence)
        return [*self._walk(term.body, [_Loose(node, "yes")]), *self._walk(term.orelse, [_Loose(node, "no")])]

    def _loop(self, term: Loop, loose: list[_Loose]) -> list[_Loose]:
        divergence = term.trip or term.order
        node = self._node("loop", f"loop over `{term.text}`", term.path, term.pos[0], divergence is not None)
        self._join(loose, node)
        self._differs(node, divergence)
        self._loops.append((node, []))
        self._join(self._walk(term.body, [_Loose(node, "each")]), node, back=True)
        _, broken = self._loops.pop()
        return [_Loose(node, DONE), *broken]

    def _attempt(self, term: Attempt, loose: list[_Loose]) -> list[_Loose]:
        around = self._caught
        self._caught = {**around, **{line: [] for line, _ in term.handlers}}
        loose = self._walk(term.body, loose)
        entries, self._caught = self._caught, around
        for line, handler in term.handlers:
            loose = [*loose, *self._walk(handler, entries[line])]
        return loose

    def _exit(self, term: Exit, loose: list[_Loose]) -> list[_Loose]:
        if term.kind in ("break", "continue") and self._loops:
            head, broken = self._loops[-1]
            if term.kind == "break":
                broken += [_Loose(one.source, one.label or "break") for one in loose]
            else:
                self._join([_Loose(one.source, one.label or "continue") for one in loose], head, back=True)
        elif term.kind == "caught" and term.line in self._caught:
            self._caught[term.line] += [_Loose(one.source, "exception") for one in loose]
        elif term.kind in ("raise", "leaves"):
            self._join(loose, self._node("raise", "an exception leaves", "", term.line))
        else:
            self._ends += [_Loose(one.source, one.label or "return") for one in loose]
        return []

    # ------------------------------------------------------------------ causes
    def _differs(self, node: int, divergence: Divergence | None) -> None:
        if divergence is not None:
            self._because(node, [divergence.why])

    def _because(self, node: int, ways: Iterable[tuple[Step, ...]]) -> None:
        for way in ways:
            previous: int | None = None
            for step in way:
                if step not in self._steps:
                    kind = "source" if step.role == "source" else "flow"
                    self._steps[step] = self._node(kind, step.note, step.path, step.line, True)
                here = self._steps[step]
                if previous is not None and previous != here:
                    self.edges.append(Edge(previous, here, cause=True))
                previous = here
            if previous is not None:
                self.edges.append(Edge(previous, node, cause=True))

    # ------------------------------------------------------------------ parts
    def _node(self, kind: str, label: str, path: str = "", line: int = 0, differs: bool = False) -> int:
        self.nodes.append(Node(len(self.nodes), kind, label, path, line, differs))
        return len(self.nodes) - 1

    def _join(self, loose: list[_Loose], target: int, *, back: bool = False) -> None:
        self.edges += [Edge(one.source, target, one.label, back=back) for one in loose]


def axes_text(axes: Iterable[str]) -> str:
    """Axes as a reader knows them."""
    names = sorted(axes)
    return ", ".join("a group that cannot be told" if name == "?" else name for name in names)
