"""Sets of numbers as text: the smallest, and then by how much each is greater than the one before."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate


def packed(numbers: Iterable[int]) -> str:
    """The text for some numbers."""
    ordered = sorted(numbers)
    return " ".join([str(number - before) for number, before in zip(ordered, [0, *ordered], strict=False)])


def unpacked(text: str) -> list[int]:
    """The numbers that a text stands for, the smallest first; ValueError if it is none."""
    return list(accumulate(map(int, text.split())))
