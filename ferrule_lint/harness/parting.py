"""Where did two ranks part? From the lines that each ran since the last operation that they shared.

The first difference is often harmless: rank 0 prints something. What counts is the *last* line that both ran before
they went different ways for good, so the two sequences are aligned and their last common line is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

Line = tuple[str, int]

#: lines that are aligned; of longer sequences the end counts
MOST_LINES = 1500
#: lines shown of the way that each rank took
MOST_NEXT = 3


class Fork(NamedTuple):
    """The last common line, how many lines the two had in common, and where each went next."""

    line: Line
    shared: int
    one_way: tuple[Line, ...]
    other_way: tuple[Line, ...]


def part(one: Sequence[Line], other: Sequence[Line]) -> Fork | None:
    """Where two ranks' lines fork for good; None if they never parted.

    Both sequences start at the same operation and end where the ranks were when the difference showed.
    """
    first, second = list(one[-MOST_LINES:]), list(other[-MOST_LINES:])
    if first == second:
        return None
    start = _common_prefix(first, second)
    blocks = SequenceMatcher(None, first[start:], second[start:], autojunk=False).get_matching_blocks()
    # a line that both happen to run at the very end is where they are, not where they parted
    end_first, end_second, shared = start, start, start
    for block in blocks:
        if not block.size:
            continue
        last_first, last_second = start + block.a + block.size, start + block.b + block.size
        if last_first == len(first) and last_second == len(second):
            break
        end_first, end_second, shared = last_first, last_second, shared + block.size
    if end_first == 0 and end_second == 0:
        return None
    line = first[end_first - 1] if end_first else second[end_second - 1]
    one_way = tuple(first[end_first : end_first + MOST_NEXT])
    return Fork(line, shared, one_way, tuple(second[end_second : end_second + MOST_NEXT]))


def out_of_step(one: Sequence[Line], other: Sequence[Line]) -> bool:
    """Has either run a line more often that both ran? Lines that only one of them ran say nothing."""
    first, second = Counter(one), Counter(other)
    return any(first[line] != second[line] for line in first.keys() & second.keys())


def _common_prefix(one: Sequence[Line], other: Sequence[Line]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def lines_between(segments: Sequence[tuple[int, Sequence[Line]]], after: int, until: int | None) -> list[Line] | None:
    """The lines run after event `after` and up to event `until` (None: to the end); None if they are no longer kept.

    A segment is (index of the event that ended it, its lines); -1 is the one still open. An event that another thread
    has issued, as autograd's do on a GPU, ends no segment: it counts as part of the one that it fell into.
    """
    cuts = [index for index, _ in segments if index != -1]
    if after >= 0 and not any(index <= after for index in cuts):
        return None
    if after < 0 and cuts and cuts[0] > 0:
        return None
    if until is not None:
        until = next((index for index in cuts if index >= until), None)
    lines: list[Line] = []
    for index, run in segments:
        if index == -1:
            if until is None:
                lines.extend(run)
        elif index > after and (until is None or index <= until):
            lines.extend(run)
    return lines
