"""Where in the text of a TOML file a table, a key or a list element stands (tomllib does not say).

Used only when there is a mistake to report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*[=.]""")
#: what matters of a value: strings and comments are skipped, brackets counted
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]|\n',
    re.DOTALL,
)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The (first line, text) of each statement: a header, or a key with its value over all its lines."""
    start = 0
    line = first = 1
    depth = 0
    for match in _TOKEN.finditer(text + "\n"):
        token = match[0]
        if token in ("[", "{"):
            depth += 1
        elif token in ("]", "}"):
            depth -= 1
        elif token == "\n":
            line += 1
            if depth <= 0:
                yield first, text[start : match.start()]
                start, first, depth = match.end(), line, 0
        else:
            line += token.count("\n")


def line_of(text: str, table: str, number: int = 0, key: str | None = None, element: str | None = None) -> int:
    """The line of the `number`-th `[table]`/`[[table]]` (from 0), of `key` in it, of the string `element` in its value.

    `table` is empty for keys above all tables. What cannot be found is reported at what holds it.
    """
    found = 1 if not table else 0
    count = -1
    for first, statement in _statements(text):
        header = _HEADER.match(statement)
        if header is not None:
            if found:
                break
            if header[2].replace(" ", "") == table:
                count += 1
                if count == number:
                    found = first
            continue
        if not found or key is None:
            continue
        match = _KEY.match(statement)
        if match is None or key not in match.groups():
            continue
        if element is not None:
            for quote in ('"', "'"):
                place = statement.rfind(f"{quote}{element}{quote}")
                if place >= 0:
                    return first + statement.count("\n", 0, place)
        return first
    return found or 1
