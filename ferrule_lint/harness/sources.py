"""The text of a line of the program."""

from __future__ import annotations

import linecache
import os


def lines_of(path: str) -> list[str]:
    """The lines of a file; none of code that has no file.

    Python's own search goes on along `sys.path` for a relative name that is not there: any installed `example.py` would
    speak for what `compile(text, "example.py", "exec")` made.
    """
    if path in linecache.cache or os.path.isfile(path):
        return linecache.getlines(path)
    return []


def line_of(path: str, number: int) -> str:
    """A line without the space around it; empty if there is none. `number` counts from 1."""
    lines = lines_of(path)
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""
