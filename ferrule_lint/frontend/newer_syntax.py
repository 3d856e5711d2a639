"""Syntax of Python 3.12 and 3.13 for an older parser: f-strings (PEP 701: the same quotes inside, backslashes, line
breaks), parameters of types and their defaults (PEP 695, 696), type aliases.

f-strings become plain strings: what is written between their braces is not read. Parameters of types become blanks,
aliases `pass`; a newer parser's are not looked at either. All take up the same places, so that all else in the file
stands where it stood.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import libcst
    from libcst.metadata import CodeRange

_ANY = re.compile(rb"""\b(?:[fF][rR]?|[rR][fF])["']|\b(?:def|class)\s+\w+\s*\[|^\s*type\s+\w+\s*[\[=]""", re.MULTILINE)
#: a line and a column
_Place = tuple[int, int]

_START = re.compile(r"""[a-zA-Z]+("{3}|'{3}|"|')""")


def as_older(source: bytes) -> bytes | None:
    """A file in which what this Python does not take is written as above; None if there is nothing of the kind, or if
    nothing else can read it either."""
    if not _ANY.search(source):
        return None
    import libcst  # late: hardly a file needs it, and it takes time to load
    from libcst.metadata import MetadataWrapper, PositionProvider

    try:
        text = source.decode("utf-8")
        wrapper = MetadataWrapper(libcst.parse_module(text), unsafe_skip_copy=True)
        places = wrapper.resolve(PositionProvider)
    except (UnicodeDecodeError, libcst.ParserSyntaxError, RecursionError):
        return None
    lines = text.splitlines(keepends=True)
    strings = _spans(places, libcst.FormattedString)
    refused: list[tuple[_Place, _Place]] = []
    for start, end in sorted(strings, key=lambda s: (s[0], (-s[1][0], -s[1][1]))):  # outer ones first
        if not (refused and end <= refused[-1][1]) and not _taken(_cut(lines, start, end)):
            refused.append((start, end))
    parameters = _spans(places, libcst.TypeParameters)
    aliases = _spans(places, libcst.TypeAlias)
    if not (refused or parameters or aliases):
        return None
    for start, end in refused:
        _replace(lines, start, end)
    for start, end in parameters:
        _put(lines, start, end, over="\\")
    for start, end in aliases:
        written = _cut(lines, start, end)  # with a semicolon, if one follows
        _put(lines, start, (end[0], end[1] - len(written) + len(written.rstrip("; "))), "pass")
    return "".join(lines).encode("utf-8")


def _spans(places: Mapping[libcst.CSTNode, CodeRange], kind: type[libcst.CSTNode]) -> list[tuple[_Place, _Place]]:
    """Where the nodes of a kind begin and end."""
    return [
        ((span.start.line, span.start.column), (span.end.line, span.end.column))
        for node, span in places.items()
        if type(node) is kind
    ]


def _cut(lines: list[str], start: _Place, end: _Place) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    first, last = lines[start[0] - 1][start[1] :], lines[end[0] - 1][: end[1]]
    return "".join([first, *lines[start[0] : end[0] - 1], last])


def _taken(text: str) -> bool:
    """Whether this Python takes an f-string as it is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(f"({text})")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _replace(lines: list[str], start: _Place, end: _Place) -> None:
    """Put a plain string in the place of an f-string. `u` is a prefix that changes nothing, and a backslash takes a
    string of one quote over the end of a line."""
    matched = _START.match(lines[start[0] - 1], start[1])
    if matched is None:
        return
    quote = matched.group(1)
    _put(lines, start, end, "u" + quote, "x", "\\" if len(quote) == 1 else "", quote)


def _put(
    lines: list[str], start: _Place, end: _Place, head: str = "", filling: str = " ", over: str = "", tail: str = ""
) -> None:
    """Write over what stands somewhere: as many bytes in each of its lines, `head` and `tail` at its ends, `over` at
    the end of each line that it goes on from."""
    for number in range(start[0], end[0] + 1):
        line = lines[number - 1]
        bare = line.rstrip("\r\n")
        a = start[1] if number == start[0] else 0
        b = end[1] if number == end[0] else len(bare)
        first = head if number == start[0] else ""
        last = tail if number == end[0] else over
        room = len(bare[a:b].encode("utf-8")) - len(first) - len(last)
        lines[number - 1] = bare[:a] + first + filling * room + last + bare[b:] + line[len(bare) :]
