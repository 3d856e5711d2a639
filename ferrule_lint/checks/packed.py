"""Sets of numbers as text, the smallest first. Whether some have a number in common is seen by their words, of which
there are millions: to make numbers of them takes longer than all else that is done with most."""

from __future__ import annotations

from collections.abc import Iterable


def packed(numbers: Iterable[int]) -> str:
    """The text for some numbers."""
    return " ".join(map(str, sorted(numbers)))


def unpacked(text: str) -> list[int]:
    """The numbers that a text stands for, the smallest first; ValueError if it is none."""
    return list(map(int, text.split()))
