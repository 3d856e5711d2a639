"""The text of a source file: ranges to characters and back, and edits applied without touching anything else."""

from __future__ import annotations

import io
import tokenize
from bisect import bisect_right
from collections.abc import Iterable

from ferrule_lint.findings import Edit, Span


class SourceText:
    """A decoded file. `text` has no byte order mark, and the line ends of the file.

    Raises SyntaxError, LookupError or UnicodeDecodeError if the bytes do not say or do not fit their encoding.
    """

    def __init__(self, source: bytes) -> None:
        self.encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        self.text = source.decode(self.encoding)
        self.starts = [0]
        for index, character in enumerate(self.text):
            if character == "\n":
                self.starts.append(index + 1)
        first = self.text.find("\n")
        self.newline = "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"

    def offset(self, line: int, column: int) -> int:
        """The index of the character at `line` and `column`, both from 1."""
        return min(self.starts[line - 1] + column - 1, len(self.text))

    def slice(self, span: Span) -> str:
        """The text of a range, with lines that end in `\\n`."""
        start, end = self._range(span)
        return self.text[start:end].replace("\r\n", "\n")

    def line(self, number: int) -> str:
        """Line `number` without its end, "" beyond the last."""
        if number > len(self.starts):
            return ""
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[self.starts[number - 1] : end].rstrip("\r\n")

    @property
    def lines(self) -> int:
        """The number of lines, an empty one after the last line end not counted."""
        return len(self.starts) - (self.text.endswith("\n") or not self.text)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of the character at `offset`."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """The bytes of the file with `edits` applied; what is inserted gets the file's line ends and encoding.

        Raises ValueError if one edit lies over another, UnicodeEncodeError if a text does not fit the encoding.
        """
        out: list[str] = []
        at = 0
        for edit in sorted(edits, key=lambda edit: _key(edit.span)):
            start, end = self._range(edit.span)
            if start < at:
                raise ValueError(f"edits overlap in line {edit.span.line}")
            out += (self.text[at:start], edit.text.replace("\n", self.newline))
            at = end
        out.append(self.text[at:])
        return "".join(out).encode(self.encoding)

    def _range(self, span: Span) -> tuple[int, int]:
        return self.offset(span.line, span.column), self.offset(span.end_line, span.end_column)


def _key(span: Span) -> tuple[int, int, int, int]:
    return span.line, span.column, span.end_line, span.end_column
