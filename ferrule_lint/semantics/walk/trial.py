"""A piece of code that is walked to learn something, and walked again for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrule_lint.semantics.control.exceptions import OpenTry
    from ferrule_lint.semantics.walk.frame import Frame


class Trial:
    """While the block runs what is walked counts, and afterwards nothing of it is left but the environment: what is
    found in the code is found again; a class, since generators cost far more."""

    __slots__ = ("_frame", "_lengths", "_tried")

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._lengths: tuple[int, ...] = ()
        self._tried: list[tuple[OpenTry, bool, bool]] = []

    def __enter__(self) -> None:
        frame = self._frame
        self._lengths = tuple(map(len, _collected(frame)))
        self._tried = [(attempt, attempt.fallible, attempt.guessed) for attempt in frame.attempts]

    def __exit__(self, *error: object) -> None:
        for attempt, fallible, guessed in self._tried:
            attempt.fallible, attempt.guessed = fallible, guessed
        for found, length in zip(_collected(self._frame), self._lengths, strict=True):
            del found[length:]


def _collected(frame: Frame) -> tuple[list[object], ...]:
    """What a frame has found one by one."""
    lists = (frame.returns, frame.issues, frame.latents, frame.revealed, frame.gradient_marks)
    return tuple(lists)  # type: ignore[arg-type]
