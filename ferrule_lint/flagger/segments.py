"""A file cut into its top-level statements, by its tokens alone.

Two reasons not to give libcst the whole file. Finding positions costs it some hundred times what reading tokens
does, and findings touch few statements. And its parser recurses on the machine's stack: a sum of some thousand
terms, which the stdlib's parser takes, ends the process; so the depth is estimated here first, from above.
"""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

#: the deepest nesting that is parsed: well below what the parser takes (some 2,000), and about what visitors take
DEEPEST = 300

#: characters that may nest inside an f-string, which is one token before Python 3.12
_NESTING = "([{+-*/.%&|^~<>"
_CONTINUATIONS = frozenset(("elif", "else", "except", "finally"))
_NO_CODE = frozenset(
    (
        tokenize.ENCODING,
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
)
_LONE_CR = re.compile(rb"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class Segment:
    """The lines of one top-level statement and of the comments after it; lines from 1, both ends included."""

    first: int
    last: int
    text: str
    #: no expression in it, and no chain of `elif`, is nested deeper
    depth: int

    @property
    def too_deep(self) -> bool:
        """Whether parsing it might end the process."""
        return self.depth > DEEPEST


@lru_cache(maxsize=32)
def segments(source: bytes) -> tuple[Segment, ...]:
    """The segments of `source`, in order; none if they cannot be told. Raises what decoding and tokenizing raise."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    lines = source.decode(encoding).split("\n")
    if _LONE_CR.search(source):
        # a line end to Python, but not to tokenize
        return ()
    starts = list(_starts(source))
    ends = [first - 1 for first, _ in starts[1:]] + [len(lines)]
    return tuple(
        Segment(first, last, "\n".join(lines[first - 1 : last]) + "\n", depth)
        for (first, depth), last in zip(starts, ends, strict=True)
    )


def _starts(source: bytes) -> Iterator[tuple[int, int]]:
    """(first line, depth) of each top-level statement."""
    counter = _Depth()
    first = depth = 0
    fresh, decorated = True, False
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if fresh and counter.indent == 0 and token.type not in _NO_CODE:
            if not decorated and token.string not in _CONTINUATIONS:
                if first:
                    yield first, depth
                first, depth = token.start[0], 0
            decorated = token.string == "@"
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            fresh = token.type in _NO_CODE
        depth = max(depth, counter.feed(token))
    if first:
        yield first, depth


class _Depth:
    """How deep the tree can be at the current token.

    A bracket, an operator, a keyword and a string (implicitly joined ones nest) each may add a level, until a comma,
    the closing bracket or the end of the line takes it back.
    """

    def __init__(self) -> None:
        self.indent = 0
        #: of each open bracket: levels that a comma ends, levels that it does not
        self._levels = [[0, 0]]
        self._sum = 0
        self._elifs: dict[int, int] = {}

    def feed(self, token: tokenize.TokenInfo) -> int:
        """Take the next token; the depth there."""
        kind, text = token.type, token.string
        if kind == tokenize.NEWLINE:
            self._end_statement()
        elif kind == tokenize.INDENT:
            self.indent += 1
        elif kind == tokenize.DEDENT:
            self.indent -= 1
        elif kind == tokenize.OP:
            self._operator(text)
        elif kind == tokenize.NAME:
            return self._keyword(text, token) if keyword.iskeyword(text) else 0
        elif kind in _NO_CODE or kind == tokenize.NUMBER:
            return 0
        else:
            self._deeper()
            if kind == tokenize.STRING and "f" in text[:2].lower():
                return self.indent + self._sum + sum(map(text.count, _NESTING))
        return self.indent + self._sum

    def _deeper(self, *, lasting: bool = False) -> None:
        self._levels[-1][lasting] += 1
        self._sum += 1

    def _end_statement(self) -> None:
        self._levels = [[0, 0]]
        self._sum = 0

    def _operator(self, text: str) -> None:
        if text in ("(", "[", "{"):
            self._deeper()
            self._levels.append([0, 0])
        elif text in (")", "]", "}"):
            if len(self._levels) > 1:
                self._sum -= sum(self._levels.pop())
        elif text == ";" and len(self._levels) == 1:
            self._end_statement()
        elif text == ",":
            self._sum -= self._levels[-1][0]
            self._levels[-1][0] = 0
        else:
            self._deeper()

    def _keyword(self, text: str, token: tokenize.TokenInfo) -> int:
        column = token.start[1]
        if text == "elif":
            # each stands in the `else` of the one before
            self._elifs[column] = self._elifs.get(column, 0) + 1
            return self._elifs[column]
        if text == "if" and not token.line[:column].strip():
            self._elifs[column] = 0
        # the commas of its parameters do not end a lambda
        self._deeper(lasting=text == "lambda")
        return self.indent + self._sum
