"""What an analysis has read: the files, and the questions to all files, on which what is being computed depends.

A file whose inputs are what they were has the findings that it had. So each thing that is remembered keeps what was
read for it, and whoever asks for it again has read that, too (demand-driven incremental computation: Hammer, Phang,
Hicks, Foster 2014, "Adapton"; the compilers of Rust work so).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from ferrule_lint.facts.parts import Words

#: a part of a file, such as ("body", "a.py:C.save") (see `facts.parts`), or a question to all files, such as
#: ("method", "save")
Input: TypeAlias = tuple[str, str]

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Reads:
    """The inputs of what is being computed, as bits of a number."""

    __slots__ = ("_log", "_noted", "_numbers", "_open", "_same", "asked", "bits", "inputs", "leans", "rests")

    def __init__(self, inputs: Iterable[Input] = ()) -> None:
        """`inputs`: those of an earlier run, whose numbers stay what they were."""
        self.bits = 0
        #: what each answer to a question rests on that has been worked out from other inputs
        self.rests: dict[Input, int] = {}
        #: what files were asked for by the words in them; see `facts.parts`
        self.asked: set[Words] = set()
        #: how often something was asked for that was being computed
        self.leans = 0
        #: all inputs there are so far; the place of one is the number of its bit
        self.inputs: list[Input] = list(inputs)
        self._numbers: dict[Input, int] = {given: number for number, given in enumerate(self.inputs)}
        #: equal numbers are kept once: what was computed on the way to something has mostly read the same
        self._same: dict[int, int] = {}
        #: what is being computed and has been asked for meanwhile -> where in the log that was
        self._open: dict[object, int] = {}
        #: what was remembered since: it rests on an answer that is not there yet
        self._log: list[tuple[dict[object, int], object]] = []
        #: what is computed while an answer is being worked out that it asks for
        self._noted: list[tuple[dict[object, int], object, dict[Any, Any]]] | None = None

    def number(self, given: Input) -> int:
        """The place of an input's bit."""
        number = self._numbers.get(given)
        if number is None:
            number = self._numbers[given] = len(self.inputs)
            self.inputs.append(given)
        return number

    def bit(self, given: Input) -> int:
        """The bit of an input."""
        return 1 << self.number(given)

    def ask(self, kind: str, about: str) -> None:
        """Note that the answer to a question decides over what is being computed."""
        self.bits |= self.bit((kind, about))

    def named(self, bits: int) -> list[Input]:
        """The inputs that some bits stand for."""
        found: list[Input] = []
        text = f"{bits:b}"[::-1]
        place = text.find("1")
        while place >= 0:
            found.append(self.inputs[place])
            place = text.find("1", place + 1)
        return found

    def begin(self) -> int:
        """Begin to compute something that is remembered; the result is for `end`."""
        before, self.bits = self.bits, 0
        return before

    def end(self, before: int) -> None:
        """What was computed is a part of what was being computed before."""
        self.bits |= before

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Compute something for itself: what is read for it is not read for what comes after."""
        before = self.begin()
        try:
            yield
        finally:
            self.bits = before

    @contextmanager
    def answering(self, kind: str, about: str) -> Iterator[None]:
        """Work out the answer to a question: who has it depends on what it says, and not on what was read for it. That
        is noted too: as long as none of it changes, nobody need ask again."""
        question = (kind, about)
        before = self.begin()
        try:
            yield
        finally:
            self.rests[question] = self.rests.get(question, 0) | self.bits
            self.bits = before | self.bit(question)

    def lean(self, what: object) -> None:
        """Something is asked for while it is being computed: who goes on without it depends on all that it will have
        read."""
        self.leans += 1
        self._open.setdefault(what, len(self._log))

    def settle(self, what: object) -> None:
        """What was leant on has been computed, as far as it goes."""
        start = self._open.pop(what, None)
        if start is None:
            return
        for bits, key in self._log[start:]:
            bits[key] = self._once(bits[key] | self.bits)
        if not self._open:
            self._log.clear()

    @contextmanager
    def provisional(self, question: str) -> Iterator[None]:
        """What is computed meanwhile and asks this question is forgotten in the end: the answer was not there yet."""
        noted: list[tuple[dict[object, int], object, dict[Any, Any]]] = []
        self._noted = noted
        try:
            yield
        finally:
            self._noted = None
            bit = self.bit((question, ""))
            for bits, key, table in noted:
                if bits.get(key, 0) & bit and key in table:
                    dict.__delitem__(table, key)

    def remember(self, bits: dict[object, int], key: object, table: dict[Any, Any]) -> None:
        """Note what has been read for something in a table."""
        bits[key] = self._once(self.bits)
        if self._noted is not None:
            self._noted.append((bits, key, table))
        if self._open:
            self._log.append((bits, key))

    def _once(self, bits: int) -> int:
        return self._same.setdefault(bits, bits)


class Memo(dict[_K, _V]):
    """What has been computed, by what it is about; asking for it counts as reading what it was computed from."""

    __slots__ = ("_bits", "_reads", "_unfinished")

    def __init__(self, reads: Reads) -> None:
        super().__init__()
        self._reads = reads
        self._bits: dict[object, int] = {}
        self._unfinished: set[_K] = set()

    def __getitem__(self, key: _K) -> _V:
        value = super().__getitem__(key)
        if key in self._unfinished:
            self._reads.lean((id(self), key))
        self._reads.bits |= self._bits[key]
        return value

    def look(self, key: _K) -> _V:
        """The value for a key, to see whether it is of use: that alone reads nothing."""
        return super().__getitem__(key)

    def __setitem__(self, key: _K, value: _V) -> None:
        super().__setitem__(key, value)
        self._reads.remember(self._bits, key, self)

    def find(self, key: _K, compute: Callable[[], _V], meanwhile: _V | None = None) -> _V:
        """The value for a key; where it is asked for while it is being computed, `meanwhile`."""
        if key in self:
            return self[key]
        before = self._reads.begin()
        self._unfinished.add(key)
        super().__setitem__(key, meanwhile)  # type: ignore[assignment]
        self._bits[key] = 0
        try:
            value = compute()
            self[key] = value
        except BaseException:
            del self[key]
            raise
        finally:
            self._unfinished.discard(key)
            self._reads.settle((id(self), key))
            self._reads.end(before)
        return value


class Asked(dict[str, _V]):
    """The answers to questions of one kind, each by what it is about. Who asks depends on what the answer says: where
    it comes out as it did, nothing that was read for it matters (see `checks.remembered`)."""

    __slots__ = ("_kind", "_reads")

    def __init__(self, reads: Reads, kind: str) -> None:
        super().__init__()
        self._reads = reads
        self._kind = kind

    def find(self, about: str, compute: Callable[[], _V], meanwhile: _V) -> _V:
        """The answer; `meanwhile`, where it is asked for while it is being worked out."""
        self._reads.ask(self._kind, about)
        if about not in self:
            self[about] = meanwhile
            with self._reads.answering(self._kind, about):
                self[about] = compute()
        return self[about]
