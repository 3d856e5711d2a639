"""The concrete syntax tree of one top-level statement, with the places and parents of its nodes."""

from __future__ import annotations

import tokenize
from collections.abc import Iterator, Sequence
from typing import TypeVar

import libcst as cst
from libcst.metadata import CodeRange

from ferrule_lint.findings import Span
from ferrule_lint.fixes.parts import parts
from ferrule_lint.fixes.text import SourceText
from ferrule_lint.flagger.places import places
from ferrule_lint.flagger.segments import Segment

_Node = TypeVar("_Node", bound=cst.CSTNode)


class Tree:
    """`module` is the parsed statement; places are lines and columns of the whole file, from 1."""

    def __init__(self, segment: Segment, source: SourceText) -> None:
        self.module = cst.parse_module(segment.text)
        self.source = source
        self._positions = places(self.module)
        self._parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self._parts: dict[cst.CSTNode, list[cst.CSTNode]] = {}
        #: nodes by where they begin in the segment, once somebody has asked
        self._starts: dict[tuple[int, int], list[cst.CSTNode]] = {}
        self._before = segment.first - 1
        self._read()

    def _read(self) -> None:
        """Parents and parts of all nodes."""
        stack: list[cst.CSTNode] = [self.module]
        while stack:
            node = stack.pop()
            below = parts(node)
            if not below:
                continue
            if len(below) > 1:
                below.sort(key=self._start)
            self._parts[node] = below
            self._parents.update((one, node) for one in below)
            stack += below

    def _start(self, node: cst.CSTNode) -> tuple[int, int]:
        start = self._positions[node].start
        return start.line, start.column

    def span(self, node: cst.CSTNode) -> Span:
        """Where `node` stands; the parentheses of an expression are not part of it."""
        place: CodeRange = self._positions[node]
        start, end = place.start, place.end
        return Span(start.line + self._before, start.column + 1, end.line + self._before, end.column + 1)

    def text(self, node: cst.CSTNode) -> str:
        """The source of `node`, as it stands in the file."""
        return self.source.slice(self.span(node))

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes that hold `node`, innermost first."""
        current = self.parent(node)
        while current is not None:
            yield current
            current = self.parent(current)

    def nearest(self, node: cst.CSTNode, kind: type[_Node]) -> _Node | None:
        """The innermost node of a kind around `node`."""
        return next((one for one in self.around(node) if isinstance(one, kind)), None)

    def at(self, span: Span, kind: type[_Node]) -> _Node | None:
        """The outermost node of a kind with exactly this range."""
        return next((node for node in self.exactly(span) if isinstance(node, kind)), None)

    def exactly(self, span: Span) -> Iterator[cst.CSTNode]:
        """The nodes with exactly this range, outer ones first."""
        return (node for node in self._from(span.line, span.column) if self.span(node) == span)

    def calls_at(self, line: int, column: int) -> list[cst.Call]:
        """The calls that begin at a place, the shortest first (`a.b()` before `a.b().c()`)."""
        found = [node for node in self._from(line, column) if isinstance(node, cst.Call)]
        return sorted(found, key=lambda call: (self.span(call).end_line, self.span(call).end_column))

    def _from(self, line: int, column: int) -> Sequence[cst.CSTNode]:
        """The nodes that begin at a place, outer ones first."""
        if not self._starts:
            for node in self.walk(self.module):
                self._starts.setdefault(self._start(node), []).append(node)
        return self._starts.get((line - self._before, column - 1), ())

    def walk(self, root: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """`root` and everything below it but white space, in the order of the source."""
        stack = [root]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(self._parts.get(node, ())))

    def statement(self, node: cst.CSTNode) -> cst.BaseStatement | None:
        """The statement (a line or a compound one) that is nearest around `node`, or `node` itself."""
        for one in (node, *self.around(node)):
            if isinstance(one, cst.SimpleStatementLine | cst.BaseCompoundStatement):
                return one
        return None

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The innermost function around `node`, unless a lambda is nearer."""
        for one in self.around(node):
            if isinstance(one, cst.Lambda):
                return None
            if isinstance(one, cst.FunctionDef):
                return one
        return None

    def block(self, statement: cst.CSTNode) -> Sequence[cst.BaseStatement]:
        """The statements among which `statement` stands; none if it shares its line with the header."""
        parent = self.parent(statement)
        if isinstance(parent, cst.IndentedBlock | cst.Module):
            return parent.body
        return ()

    def before(self, statement: cst.CSTNode) -> Sequence[cst.BaseStatement]:
        """The statements of the same block above `statement`."""
        block = self.block(statement)
        index = next((index for index, one in enumerate(block) if one is statement), 0)
        return block[:index]

    def indent(self, statement: cst.CSTNode) -> str:
        """The white space in front of `statement`."""
        span = self.span(statement)
        return self.source.line(span.line)[: span.column - 1]

    def first_line(self, statement: cst.CSTNode) -> int:
        """The first line of `statement`, its decorators and the comments right above it included."""
        line = self.span(statement).line
        if isinstance(statement, cst.FunctionDef | cst.ClassDef) and statement.decorators:
            line = min(line, *(self.span(one).line for one in statement.decorators))
        while line > 1 and self.source.line(line - 1).lstrip().startswith("#"):
            line -= 1
        return line


def tree_of(segment: Segment, source: SourceText) -> Tree | None:
    """The tree of a top-level statement; None if it cannot be parsed."""
    try:
        return None if segment.too_deep else Tree(segment, source)
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError, LookupError, cst.ParserSyntaxError, RecursionError):
        return None
