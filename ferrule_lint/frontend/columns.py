"""Byte offsets of the parser -> character columns from 1. Only in lines that are not ASCII are they not the same.

What stands between two of them is read here, too.
"""

from __future__ import annotations

import io
import tokenize


class Columns:
    """Byte offsets of the parser -> character columns from 1."""

    def __init__(self, source: bytes) -> None:
        self._lines: list[bytes] | None = None
        self._source = source
        self._ascii = source.isascii()

    def __call__(self, line: int, offset: int) -> int:
        if self._ascii:
            return offset + 1
        text = self._line(line)
        if text.isascii():
            return offset + 1
        return len(text[:offset].decode("utf-8", "replace")) + 1

    def written(self, line: int, start: int, end: int) -> str:
        """What stands in a line between two offsets."""
        return self._line(line)[start:end].decode("utf-8", "replace")

    def _line(self, line: int) -> bytes:
        """A line of the file; nothing if it has no such line."""
        if self._lines is None:
            self._lines = _utf8_lines(self._source)
        return self._lines[line - 1] if line <= len(self._lines) else b""


def _utf8_lines(source: bytes) -> list[bytes]:
    """The file's lines as the parser counts them: UTF-8, whatever the file's own coding is."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        text = source.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return source.split(b"\n")
    return text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8").split(b"\n")
