"""Which questions are asked to see whether they say what they said: those right above what has changed, no others."""

from __future__ import annotations

from ferrule_lint.checks.known import KnownInput
from ferrule_lint.checks.settling import Settling
from ferrule_lint.semantics.project.reads import Memo, Reads


class Known:
    """Inputs by number, each with what it rests on; 0 is a text, and has changed."""

    def __init__(self, rests: dict[int, str], other: tuple[int, ...] = ()) -> None:
        """`other`: those that say something else now."""
        self.asked: list[int] = []
        self.other = other
        inputs = [KnownInput("summary", str(n), "said", rests.get(n, "")) for n in range(max(rests) + 1)]
        self.settling = Settling(inputs, self.ask)
        self.settling.questions = set(rests)
        self.settling.changed = {0}

    def ask(self, number: int) -> bool:
        self.asked.append(number)
        return number not in self.other

    def holds(self, *numbers: int) -> bool:
        return self.settling.hold(numbers)


def test_what_rests_on_something_that_was_asked_and_is_the_same_is_not_asked() -> None:
    known = Known({1: "0", 2: "1", 3: "2"})
    assert known.holds(3)
    assert known.asked == [1]
    assert known.settling.settled == {1, 2, 3}


def test_what_rests_on_something_that_has_changed_is_asked() -> None:
    known = Known({1: "0", 2: "1", 3: "2"}, other=(1,))
    assert known.holds(3)
    assert known.asked == [1, 2]
    assert not known.holds(1, 3)


def test_of_those_that_rest_on_each_other_only_the_one_above_the_change_is_asked() -> None:
    known = Known({1: "4", 2: "1", 3: "2", 4: "3 5", 5: "0"})
    assert known.holds(2)
    assert known.asked == [5]
    assert known.settling.settled == {1, 2, 3, 4, 5}


def test_one_that_says_something_else_concerns_those_that_rest_on_it_in_a_circle() -> None:
    known = Known({1: "4", 2: "1", 3: "2", 4: "0 3"}, other=(4,))
    assert known.holds(2)
    assert known.asked == [4, 1]
    assert known.holds(3)
    assert known.asked == [4, 1]


def test_nothing_is_asked_where_that_is_not_wanted() -> None:
    known = Known({1: "0", 2: "1", 3: "4", 4: "3"})
    assert not known.settling.hold([2], ask=False)
    assert known.settling.hold([3], ask=False)
    assert not known.asked


def test_while_a_question_is_worked_out_nobody_knows_of_those_that_rest_on_it() -> None:
    known = Known({1: "0", 2: "1", 3: "2"})
    seen: list[bool] = []

    def ask(number: int) -> bool:
        seen.append(known.settling.hold([3]))
        return True

    known.settling = Settling(known.settling._inputs, ask)
    known.settling.questions, known.settling.changed = {1, 2, 3}, {0}
    assert known.settling.hold([3])
    assert seen == [False]


def test_what_leans_on_something_unfinished_has_read_all_that_this_reads_and_nothing_else_has() -> None:
    reads = Reads()
    apart: Memo[str, int] = Memo(reads)
    memo: Memo[str, int] = Memo(reads)

    def inner() -> int:
        reads.ask("body", "inner")
        return memo["outer"]

    def beside() -> int:
        reads.ask("body", "beside")
        return 1

    def outer() -> int:
        found = memo.find("inner", inner) + apart.find("beside", beside)
        reads.ask("body", "outer")
        return found

    assert memo.find("outer", outer, 0) == 1
    read = {name: {about for _, about in reads.named(memo._read[name])} for name in ("inner", "outer")}
    assert read == {"inner": {"inner", "beside", "outer"}, "outer": {"inner", "beside", "outer"}}
    assert reads.named(apart._read["beside"]) == [("body", "beside")]
    assert all(number >= 0 for number in reads.read)
