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

#: the numbers of inputs
Numbers: TypeAlias = tuple[int, ...]

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


#: nothing is known of an earlier answer, which may have been None
UNKNOWN_ANSWER = object()


class Reads:
    """The inputs of what is being computed, by their numbers."""

    __slots__ = (
        "_leaning", "_noted", "_numbers", "_open", "_same", "asked", "earlier", "inputs", "leans", "read", "rests",
    )  # fmt: skip

    def __init__(self, inputs: Iterable[Input] = ()) -> None:
        """`inputs`: those of an earlier run, whose numbers stay what they were."""
        self.read: set[int] = set()
        #: what each answer to a question rests on that has been worked out from other inputs
        self.rests: dict[Input, Numbers] = {}
        #: what files were asked for by the words in them; see `facts.parts`
        self.asked: set[Words] = set()
        #: how often something was asked for that was being computed
        self.leans = 0
        #: all inputs there are so far; the place of one is its number
        self.inputs: list[Input] = list(inputs)
        self._numbers: dict[Input, int] = {given: number for number, given in enumerate(self.inputs)}
        #: equal ones are kept once: what was computed on the way to something has mostly read the same
        self._same: dict[Numbers, Numbers] = {}
        #: what is being computed and has been asked for meanwhile -> the mark that is read for it: a number below zero
        self._open: dict[object, int] = {}
        #: what has such a mark among what was read for it, by the mark: it rests on an answer that is not there yet
        self._leaning: dict[int, dict[tuple[int, object], dict[Any, Numbers]]] = {}
        #: what is computed while an answer is being worked out that it asks for
        self._noted: list[tuple[dict[Any, Numbers], object, dict[Any, Any], object]] | None = None
        #: the answers of an earlier run that are right still, `UNKNOWN_ANSWER` in place of all others
        self.earlier: Callable[[Input], Any] | None = None

    def number(self, given: Input) -> int:
        """The number of an input."""
        number = self._numbers.get(given)
        if number is None:
            number = self._numbers[given] = len(self.inputs)
            self.inputs.append(given)
        return number

    def known(self, given: Input) -> int | None:
        """The number of an input, None if nobody has asked for it."""
        return self._numbers.get(given)

    def ask(self, kind: str, about: str) -> None:
        """Note that the answer to a question decides over what is being computed."""
        self.read.add(self.number((kind, about)))

    def named(self, numbers: Iterable[int]) -> list[Input]:
        """The inputs with some numbers."""
        return [self.inputs[number] for number in sorted(numbers)]

    def begin(self) -> set[int]:
        """Begin to compute something that is remembered; the result is for `end`."""
        before, self.read = self.read, set()
        return before

    def end(self, before: set[int], question: Input | None = None) -> None:
        """What was computed is a part of what was being computed before; that asked a question, if this was one."""
        mine, self.read = self.read, before
        self.use(question, mine)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Compute something for itself: what is read for it is not read for what comes after."""
        before = self.begin()
        try:
            yield
        finally:
            self.read = before

    @contextmanager
    def answering(self, kind: str, about: str) -> Iterator[None]:
        """Work out the answer to a question: who has it depends on what it says, and not on what was read for it. That
        is noted too: as long as none of it changes, nobody need ask again."""
        question = (kind, about)
        before = self.begin()
        try:
            yield
        finally:
            self.rests[question] = self._once(self.read.union(self.rests.get(question, ())))
            self._note_leaning(self.read, self.rests, question)
            before.add(self.number(question))
            self.read = before

    def lean(self, what: object, question: Input | None = None) -> None:
        """Something is asked for while it is being computed: who goes on without it depends on all that it will have
        read; on what it says, if it answers a question."""
        self.leans += 1
        if question is not None and self._noted is None:
            self.read.add(self.number(question))
        else:
            self.read.add(self._open.setdefault(what, -self.leans))

    def settle(self, what: object) -> None:
        """What was leant on has been computed, as far as it goes: who went on without it has read all that it has."""
        mark = self._open.pop(what, None)
        if mark is None:
            return
        self.read.discard(mark)
        for (_, key), table in self._leaning.pop(mark, {}).items():
            if mark in table[key]:
                table[key] = self._once(self.read.union(table[key]) - {mark})
                self._note_leaning(self.read, table, key)

    def _note_leaning(self, read: set[int], table: dict[Any, Numbers], key: object) -> None:
        """Note that something was remembered for which `read` was read, if that is not all there yet."""
        for mark in self._open.values():
            if mark in read:
                self._leaning.setdefault(mark, {})[id(table), key] = table

    @contextmanager
    def provisional(self, question: str) -> Iterator[None]:
        """What is computed meanwhile and asks this question is forgotten in the end: the answer was not there yet."""
        noted: list[tuple[dict[Any, Numbers], object, dict[Any, Any], object]] = []
        self._noted = noted
        try:
            yield
        finally:
            self._noted = None
            number = self.number((question, ""))
            for read, at, table, key in noted:
                if number in read.get(at, ()) and key in table:
                    dict.__delitem__(table, key)

    def remember(self, read: dict[Any, Numbers], at: object, table: dict[Any, Any], key: object) -> None:
        """Note what has been read for something in a table: in `read`, under `at`."""
        read[at] = self._once(self.read)
        if self._noted is not None:
            self._noted.append((read, at, table, key))
        self._note_leaning(self.read, read, at)

    def recall(self, question: Input) -> Any:
        """What an earlier run has answered, if it would be answered so now; else `UNKNOWN_ANSWER`. While answers are
        provisional nobody knows."""
        return UNKNOWN_ANSWER if self.earlier is None or self._noted is not None else self.earlier(question)

    def use(self, question: Input | None, read: Iterable[int]) -> None:
        """Something is used that was remembered: who does rests on what it says, if it answers a question, and else on
        all that was read for it. So it is while answers are provisional, too: they may have to be forgotten."""
        if question is not None and self._noted is None:
            self.read.add(self.number(question))
        else:
            self.read.update(read)

    def _once(self, read: Iterable[int]) -> Numbers:
        known = tuple(sorted(read))
        return self._same.setdefault(known, known)


class Memo(dict[_K, _V]):
    """What has been computed, by what it is about; asking for it counts as reading what it was computed from. If these
    are answers to questions, asking counts as asking the question."""

    __slots__ = ("_question", "_read", "_reads", "_unfinished")

    def __init__(self, reads: Reads, question: Callable[[_K], Input | None] | None = None) -> None:
        """`question`: the one to which something is the answer, None where it cannot be written."""
        super().__init__()
        self._reads = reads
        self._read: dict[_K, Numbers] = {}
        self._unfinished: set[_K] = set()
        self._question = question

    def __getitem__(self, key: _K) -> _V:
        value = dict.__getitem__(self, key)
        question = self._question(key) if self._question is not None else None
        if key in self._unfinished:
            self._reads.lean((id(self), key), question)
        elif question is None:
            self._reads.read.update(self._read[key])
        else:
            self._reads.use(question, self._reads.rests[question])
        return value

    def look(self, key: _K) -> _V:
        """The value for a key, to see whether it is of use: that alone reads nothing."""
        return super().__getitem__(key)

    def __setitem__(self, key: _K, value: _V) -> None:
        super().__setitem__(key, value)
        question = self._question(key) if self._question is not None else None
        if question is None:
            self._reads.remember(self._read, key, self, key)
        else:
            self._reads.remember(self._reads.rests, question, self, key)

    def recalls(self, key: _K) -> bool:
        """Whether there is something for a key, or an earlier run has found it."""
        if key in self:
            return True
        question = self._question(key) if self._question is not None and self._reads.earlier is not None else None
        kept: Any = self._reads.recall(question) if question is not None else UNKNOWN_ANSWER
        if kept is not UNKNOWN_ANSWER:
            super().__setitem__(key, kept)
        return key in self

    def find(self, key: _K, compute: Callable[[], _V], meanwhile: _V | None = None) -> _V:
        """The value for a key; where it is asked for while it is being computed, `meanwhile`."""
        if key in self or self.recalls(key):
            return self[key]
        before = self._reads.begin()
        self._unfinished.add(key)
        super().__setitem__(key, meanwhile)  # type: ignore[assignment]
        self._read[key] = ()
        question = None
        try:
            value = compute()
            self[key] = value
            question = self._question(key) if self._question is not None else None
        except BaseException:
            del self[key]
            raise
        finally:
            self._unfinished.discard(key)
            self._reads.settle((id(self), key))
            self._reads.end(before, question)
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
