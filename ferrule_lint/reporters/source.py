"""The source lines that reports show, read again when they are needed."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrule_lint.findings import Step

#: not `str.splitlines`: to Python a form feed or U+2028 ends no line
_LINE_END = re.compile(r"\r\n|\r|\n")
_TEXT = re.compile(r"\S(?:.*\S)?")


def decode(source: bytes) -> str:
    """`source` as text, by its BOM or coding line; bytes that do not fit are replaced."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        return source.decode(encoding, errors="replace")
    except (SyntaxError, LookupError, ValueError):
        return source.decode("utf-8", errors="replace").removeprefix("\ufeff")


class Sources:
    """Lines of the files below `root`; a file that cannot be read any more has none."""

    def __init__(self, root: Path, contents: Mapping[str, bytes] | None = None) -> None:
        self._root = root
        self._contents = contents or {}
        self._lines: dict[str, list[str]] = {}

    def read(self, path: str) -> bytes:
        """The content of a file; nothing if it cannot be read."""
        try:
            content = self._contents.get(path)
            return (self._root / path).read_bytes() if content is None else content
        except (OSError, ValueError):
            return b""

    def line(self, path: str, number: int) -> str | None:
        """Line `number`, from 1, without its end; None if there is none."""
        lines = self._lines.get(path)
        if lines is None:
            lines = self._lines[path] = _LINE_END.split(decode(self.read(path)))
        return lines[number - 1] if 1 <= number <= len(lines) else None

    def columns(self, path: str, number: int) -> tuple[int, int]:
        """Where the text of a line begins and ends (exclusive), from 1: of a statement the line alone is known."""
        text = _TEXT.search(self.line(path, number) or "")
        return (1, 1) if text is None else (text.start() + 1, text.end() + 1)

    def column(self, step: Step) -> int:
        """The column of a place of a witness: of a whole line, the one where its text begins."""
        return self.columns(step.path, step.line)[0] if step.column == 1 else step.column
