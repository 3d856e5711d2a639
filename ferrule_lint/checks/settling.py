"""Which known inputs say what they said: found out from what each rests on, and by asking only where that has changed.

Questions may rest on each other: a method sets an attribute to what a function returns which reads it. While one of
them is being looked at, the others rest on something that is not known yet. Where nothing else below them has changed,
all of them say what they said, and none is asked (the strongly connected components of what rests on what, found on
the way: Tarjan 1972). Where one has to be asked, because something right below it has changed, and says what it said,
the others need not be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ferrule_lint.checks.known import KnownInput
from ferrule_lint.checks.packed import unpacked

#: lower than all numbers that a question may be looked at as: it rests on nothing that is not known yet
_ON_NOTHING = 1_000_000_000


class Settling:
    """Inputs by their numbers: those that have changed, and those of which it is known that they have not."""

    def __init__(self, inputs: Sequence[KnownInput], ask: Callable[[int], bool]) -> None:
        """`ask`: work out the answer to a question; whether it is the one that it was."""
        self._inputs = inputs
        self._ask = ask
        #: what does not say what it said
        self.changed: set[int] = set()
        #: what is worked out from other inputs; of that, what says what it said
        self.questions: set[int] = set()
        self.settled: set[int] = set()
        #: the questions that were asked
        self.asked: set[int] = set()
        #: those that are being looked at, each with its place among them
        self._open: dict[int, int] = {}
        #: those that say what they said if the ones do that are being looked at: with the first place that they rest on
        self._provisional: dict[int, int] = {}
        self._order: list[int] = []

    def is_open(self, number: int) -> bool:
        """Whether a question is being looked at."""
        return number in self._open

    def hold(self, numbers: Collection[int], ask: bool = True) -> bool:
        """Whether all of some inputs say what they said. Without `ask`, no answer is worked out to see that. Of what
        rests on a question that is being worked out nobody knows."""
        begun = len(self._order)
        first: int | None = None
        try:
            first = self._first_open(numbers, ask)
        finally:
            if first != _ON_NOTHING:
                self._forget(begun)
        return first == _ON_NOTHING

    def _first_open(self, numbers: Collection[int], ask: bool) -> int | None:
        """The first of the questions being looked at that some inputs rest on; None if one of them has changed."""
        if not self.changed.isdisjoint(numbers):
            return None
        first = _ON_NOTHING
        for number in sorted(self.questions.intersection(numbers) - self.settled):
            found = self._looked_at(number, ask)
            if found is None:
                return None
            first = min(first, found)
        return first

    def _looked_at(self, number: int, ask: bool) -> int | None:
        """The same for a single question."""
        if number in self.settled or number in self.changed:
            return _ON_NOTHING if number in self.settled else None
        known = self._open.get(number, self._provisional.get(number))
        if known is not None:
            return known
        place = self._open[number] = len(self._open)
        begun = len(self._order)
        try:
            rests = [other for other in unpacked(self._inputs[number].rests) if other != number]
            first = self._first_open(rests, ask) if rests else None
            if first is None:
                self._forget(begun)
                if not ask:
                    return None
                self.asked.add(number)
                if not self._ask(number):
                    self.changed.add(number)
                    return None
                first = _ON_NOTHING
        finally:
            del self._open[number]
        if first < place:
            self._provisional[number] = first
            self._order.append(number)
            return first
        self.settled.update((number, *self._order[begun:]))
        self._forget(begun)
        return _ON_NOTHING

    def _forget(self, begun: int) -> None:
        """Nothing is known any more of what was found out on a condition since."""
        for number in self._order[begun:]:
            del self._provisional[number]
        del self._order[begun:]
