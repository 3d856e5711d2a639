"""Text that goes to a terminal: safe, aligned, and coloured only where colour is wanted."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Mapping
from typing import TextIO

#: (text, rich style); the plain form is the text alone
Fragment = tuple[str, str]
Line = list[Fragment]

TAB = 4


def visible(text: str) -> str:
    """`text` with a visible character for each that could move the cursor, reorder the line or hide itself.

    One character stays one character, so that columns stay right.
    """
    return text if text.isascii() and text.isprintable() else "".join(map(_visible_character, text))


def _visible_character(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    # control, format (bidirectional overrides, zero width), surrogate, line and paragraph separators
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return "\ufffd"
    return character


def width(text: str) -> int:
    """The number of terminal cells of `text`."""
    if text.isascii():
        return len(text)
    cells = 0
    for character in text:
        if unicodedata.combining(character):
            continue
        cells += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return cells


def expand(text: str) -> str:
    """A source line as it is shown: tabs as spaces, nothing raw."""
    return visible(text.replace("\t", " " * TAB))


def plain(lines: Iterable[Line]) -> str:
    """The lines without styles."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def wants_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether `stream` is to be coloured: NO_COLOR and FORCE_COLOR decide, else whether it is a terminal."""
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and environment.get("TERM") != "dumb"


#: what terminals that follow links set
_LINKING = ("VTE_VERSION", "WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "DOMTERM")
_LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio")


def wants_links(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether `stream` is a terminal that is known to follow links; FORCE_HYPERLINK decides if it is set."""
    forced = environment.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced not in ("", "0")
    known = any(environment.get(name) for name in _LINKING) or environment.get("TERM_PROGRAM") in _LINKING_PROGRAMS
    return known and stream.isatty()


def coloured(lines: Iterable[Line], *, links: bool = False) -> str:
    """The lines with the escape codes of their styles, and links if they are wanted."""
    # rich is imported only where there is something to colour
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    out = StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", highlight=False, width=1_000_000)
    for line in lines:
        shown = line if links else [(text, style.partition(" link ")[0]) for text, style in line]
        console.print(Text.assemble(*shown), soft_wrap=True)
    return out.getvalue().removesuffix("\n")


def render(lines: Iterable[Line], *, colour: bool, links: bool = False) -> str:
    """The lines as one text, coloured or plain."""
    return coloured(lines, links=links) if colour else plain(lines)
