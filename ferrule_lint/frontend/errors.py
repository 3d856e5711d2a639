"""The one error of the frontend."""

from __future__ import annotations


class SourceError(Exception):
    """A file that cannot be turned into facts. `line` counts from 1; 0 when no line can be named."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
