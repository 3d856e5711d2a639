"""Who meets whom: the steps of all ranks of a world, played until nobody gets on.

A `send` and a `recv` wait for their other end (a rendezvous, as in CSP, and in MPI's standard mode for what no buffer
takes); `isend` and `irecv` wait for nobody, and `wait()` for them does. Between two ranks transfers pair up in their
order, as with NCCL; where there are tags, those of one tag do, as with gloo and MPI.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import NamedTuple

from ferrule_lint.checks.worlds.steps import Step, Transfer, Wait

_OTHER = {"send": "recv", "recv": "send"}


class Stuck(NamedTuple):
    """A transfer that comes to no end: the rank whose it is, and the transfers that it is told with.

    `why`: "nobody" (no such rank), "itself", "tags", "each other", "circle", "alone" (the other end never comes: told
    with what that rank has done last).
    """

    rank: int
    transfer: Transfer
    why: str
    others: tuple[tuple[int, Transfer], ...] = ()


def play(lines: list[list[Step]]) -> tuple[Stuck | None, list[tuple[Transfer, Transfer]]]:
    """Where the ranks of a world get stuck, or None; and the sends that have met receives."""
    for rank, line in enumerate(lines):
        for step in line:
            if type(step) is Transfer and not 0 <= step.peer < len(lines):
                return Stuck(rank, step, "nobody"), []
            if type(step) is Transfer and step.peer == rank and step.waits:
                return Stuck(rank, step, "itself"), []
    table = _Table(lines, tags=True)
    stuck = table.play()
    if stuck is not None and _tagged(lines) and _Table(lines, tags=False).play() is None:
        stuck = stuck._replace(why="tags")
    return stuck, table.met


def _tagged(lines: list[list[Step]]) -> bool:
    return len({step.tag for line in lines for step in line if type(step) is Transfer}) > 1


class _Table:
    def __init__(self, lines: list[list[Step]], tags: bool) -> None:
        self.lines = lines
        self.tags = tags
        self.at = [0] * len(lines)
        #: transfers that were begun and not met, by who, with whom, what and its tag: (rank, number of the step)
        self.open: dict[tuple[int, int, str, object], deque[int]] = defaultdict(deque)
        self.done: set[tuple[int, int]] = set()
        self.met: list[tuple[Transfer, Transfer]] = []
        self.begun: set[tuple[int, int]] = set()

    def play(self) -> Stuck | None:
        while any([self._goes_on(rank) for rank in range(len(self.lines))]):
            pass
        return self._told()

    def _goes_on(self, rank: int) -> bool:
        line = self.lines[rank]
        if self.at[rank] == len(line):
            return False
        place = self.at[rank]
        step = line[place]
        if type(step) is Wait:
            on = (rank, step.begun) in self.done
        else:
            assert type(step) is Transfer
            began = (rank, place) not in self.begun
            if began:
                self._begin(rank, place, step)
            on = not step.waits or (rank, place) in self.done
            if not on:
                return began
        if on:
            self.at[rank] += 1
        return on

    def _begin(self, rank: int, place: int, step: Transfer) -> None:
        self.begun.add((rank, place))
        tag = step.tag if self.tags else 0
        waiting = self.open[step.peer, rank, _OTHER[step.kind], tag]
        if not waiting:
            self.open[rank, step.peer, step.kind, tag].append(place)
            return
        other = waiting.popleft()
        self.done |= {(rank, place), (step.peer, other)}
        there = self.lines[step.peer][other]
        assert type(there) is Transfer
        self.met.append((step, there) if step.kind == "send" else (there, step))

    def _told(self) -> Stuck | None:
        """The first transfer of the first rank that is not met; two that wait for each other before all others."""
        waiting = {rank: step for rank in range(len(self.lines)) if (step := self._waits_for(rank)) is not None}
        for rank, step in waiting.items():
            other = waiting.get(step.peer)
            if other is not None and other.peer == rank and step.waits and other.waits:
                return Stuck(rank, step, "each other", ((step.peer, other),))
        open_ = sorted((rank, place) for (rank, *_), places in self.open.items() for place in places)
        for rank, place in open_:
            step = self._transfer(rank, place)
            if step.peer not in waiting:
                return Stuck(rank, step, "alone", self._last_of(step.peer))
        if waiting:
            (rank, step), *rest = waiting.items()
            return Stuck(rank, step, "circle", tuple(rest))
        return None

    def _last_of(self, rank: int) -> tuple[tuple[int, Transfer], ...]:
        """What a rank has done last before it was through."""
        done = [(rank, step) for step in self.lines[rank] if type(step) is Transfer]
        return tuple(done[-1:])

    def _waits_for(self, rank: int) -> Transfer | None:
        if self.at[rank] == len(self.lines[rank]):
            return None
        step = self.lines[rank][self.at[rank]]
        if type(step) is Wait:
            return self._transfer(rank, step.begun)
        assert type(step) is Transfer
        return step

    def _transfer(self, rank: int, place: int) -> Transfer:
        step = self.lines[rank][place]
        assert type(step) is Transfer
        return step
