"""The one error of the frontend."""

from __future__ import annotations


class SourceError(Exception):
    """A file that cannot be turned into facts. `line` and `column` count from 1; 0 when none can be named."""

    def __init__(self, line: int, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.message = message
