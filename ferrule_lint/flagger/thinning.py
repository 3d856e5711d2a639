"""A segment with little else than the lines that matter: what is not there costs nothing.

Finding positions costs libcst a hundred times what reading tokens does, and a finding speaks of one or two statements.
All others become `_(   )`, one for any number of statements in a row, which begins and ends where they do: whatever is
kept keeps its lines and columns, also where a block ends.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_LAYOUT = frozenset((tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER))
_CONTINUATIONS = frozenset("elif else except finally case".split())


@dataclass(slots=True)
class _Line:
    """A logical line, lines from 1, and the block below it."""

    word: str
    start: tuple[int, int]
    #: of the last token; exclusive
    stop: tuple[int, int]
    block: list[_Line] = field(default_factory=list)

    @property
    def end(self) -> tuple[int, int]:
        """Where the line or its block ends."""
        return self.block[-1].end if self.block else self.stop


def thin(text: str, matters: Callable[[int, int], bool], whole: Callable[[int], bool]) -> str:
    """`text` without the statements where no line matters.

    `matters` is asked for ranges of lines, ends included; `whole` whether what begins in a line is kept as it is.
    Raises what tokenizing raises.
    """
    lines = text.split("\n")
    _thin(_blocks(text), lines, matters, whole)
    return "\n".join(lines)


def _blocks(text: str) -> list[_Line]:
    """The logical lines of `text`, each with the block that it heads."""
    top: list[_Line] = []
    open_blocks = [top]
    line: _Line | None = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = token.type
        if kind in _LAYOUT:
            continue
        if kind == tokenize.INDENT:
            open_blocks.append(open_blocks[-1][-1].block)
        elif kind == tokenize.DEDENT:
            open_blocks.pop()
        elif kind == tokenize.NEWLINE:
            line = None
        elif line is None:
            line = _Line(token.string, token.start, token.end)
            open_blocks[-1].append(line)
        elif token.string != ";":
            line.stop = token.end
    return top


def _thin(
    block: list[_Line], lines: list[str], matters: Callable[[int, int], bool], whole: Callable[[int], bool]
) -> None:
    start = end = (0, 0)
    for statement in _statements(block):
        first, last = statement[0].start, statement[-1].end
        if matters(first[0], last[0]):
            _blank(lines, start, end)
            start = end = (0, 0)
            for clause in statement if not whole(first[0]) else ():
                _thin(clause.block, lines, matters, whole)
        else:
            start, end = start if start[0] else first, last
    _blank(lines, start, end)


def _statements(block: list[_Line]) -> Iterator[list[_Line]]:
    """The statements of a block: a line with the clauses and decorators that belong to it."""
    statement: list[_Line] = []
    for line in block:
        if statement and statement[-1].word != "@" and line.word not in _CONTINUATIONS:
            yield statement
            statement = []
        statement.append(line)
    if statement:
        yield statement


def _blank(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> None:
    """Put one call in the place of all between; what is too short for one stays."""
    (first, column), (last, stop) = start, end
    if first == last:
        if stop - column >= len("_()"):
            text = lines[first - 1]
            lines[first - 1] = text[:column] + "_(".ljust(stop - column - 1) + ")"
    else:
        lines[first - 1] = lines[first - 1][:column] + "_("
        lines[first : last - 1] = [""] * (last - first - 1)
        lines[last - 1] = " " * (stop - 1) + ")"
