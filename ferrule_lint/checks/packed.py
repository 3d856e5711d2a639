"""Sets of inputs as text: a number in hexadecimal digits, in which each longer run of zeros is a count in brackets."""

from __future__ import annotations

import re

_ZEROS = re.compile("0{4,}")
_RUN = re.compile(r"\((\d+)\)")


def packed(bits: int) -> str:
    """The text for some bits."""
    return _ZEROS.sub(lambda run: f"({len(run[0])})", f"{bits:x}")


def unpacked(text: str) -> int:
    """The bits that a text stands for; ValueError if it is none."""
    return int(_RUN.sub(lambda run: "0" * int(run[1]), text) or "0", 16)
