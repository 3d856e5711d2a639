"""What has to agree between two events, and what need not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ferrule_lint.harness.events import Event, Site, Spec, from_wire, to_wire
from ferrule_lint.harness.ledger import Ledger
from ferrule_lint.harness.matching import mismatch
from ferrule_lint.harness.parting import lines_between, out_of_step, part
from ferrule_lint.harness.render import ranks_text


def event(rank: int = 0, op: str = "all_reduce", shape: tuple[int, ...] = (4,), **changes: object) -> Event:
    plain = Event(rank, 0, "collective", op, "0", (0, 1), 0, (Spec("float32", shape),), reduce_op="SUM")
    return replace(plain, **changes)


def test_wire_keeps_everything() -> None:
    one = event(stack=(Site("a.py", 3, "f"),), sends=(1, 2), receives=(3,), room=(Spec("int8", ()),), module="tower")
    assert from_wire(to_wire(one)) == one


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, ""),
        ({"shape": (2, 2)}, ""),
        ({"shape": (5,)}, "shape"),
        ({"tensors": (Spec("float64", (4,)),)}, "dtype"),
        ({"tensors": ()}, "shape"),
        ({"reduce_op": "MAX"}, "reduce-op"),
        ({"root": 1}, "root"),
        ({"op": "broadcast"}, "op"),
        ({"request": "ranks=[0]"}, "request"),
        ({"stack": (Site("b.py", 9, "g"),), "api": "backward"}, ""),
    ],
)
def test_all_reduce(changes: dict[str, object], kind: str) -> None:
    found = mismatch(event(), event(rank=1, **changes))  # type: ignore[arg-type]
    assert (found.kind if found else "") == kind


def test_modules_are_compared_where_both_are_known() -> None:
    assert mismatch(event(module="a"), event(rank=1, module="")) is None
    found = mismatch(event(module="a"), event(rank=1, module="b"))
    assert found is not None and found.kind == "module"


def uneven(rank: int, mine: int, room: tuple[int, ...]) -> Event:
    return event(rank, "all_gather", (mine,), room=tuple(Spec("float32", (size,)) for size in room))


def test_uneven_all_gather_fits_where_room_was_made() -> None:
    assert mismatch(uneven(0, 2, (2, 3)), uneven(1, 3, (2, 3))) is None
    assert mismatch(uneven(0, 2, (2, 2)), uneven(1, 3, (3, 3))) is not None


def splits(rank: int, sends: tuple[int, ...], receives: tuple[int, ...]) -> Event:
    return event(rank, "all_to_all_single", sends=sends, receives=receives)


def test_all_to_all_compares_what_goes_between_the_two() -> None:
    assert mismatch(splits(0, (1, 3), (1, 2)), splits(1, (2, 2), (3, 2))) is None
    found = mismatch(splits(0, (1, 3), (1, 1)), splits(1, (1, 3), (2, 2)))
    assert found is not None
    assert (found.kind, found.text) == (
        "splits",
        "all_to_all_single: rank 0 sends 3 elements to rank 1, rank 1 expects 2",
    )


def p2p(rank: int, kind: str, other: int, tag: int = 0, size: int = 4) -> Event:
    return event(rank, kind, (size,), kind=kind, seq=-1, root=other, tag=tag, reduce_op="")


def test_point_to_point_pairs_in_order_per_tag() -> None:
    books = Ledger()
    first, second, other_tag = p2p(0, "send", 1), p2p(0, "send", 1, size=8), p2p(0, "send", 1, tag=7)
    for one in (first, second, other_tag):
        assert books.add(one) == (None, ())
    take = p2p(1, "recv", 0)
    assert books.add(take) == (None, (take, first))
    clash, _ = books.add(p2p(1, "recv", 0))
    assert clash is not None and clash.mismatch.kind == "shape" and clash.events[0] is second
    assert list(books.unpaired()) == [other_tag]


def test_a_batch_does_not_pair_with_what_is_outside_of_one() -> None:
    books = Ledger()
    alone = replace(p2p(0, "send", 1), pair=True)
    assert books.add(alone) == (None, ())
    assert books.add(p2p(1, "recv", 0)) == (None, ())
    take = replace(p2p(1, "recv", 0), pair=True)
    assert books.add(take) == (None, (take, alone))


def test_receiving_from_anybody_ends_pairing_for_that_rank() -> None:
    books = Ledger()
    waiting = p2p(0, "send", 1)
    books.add(waiting)
    anybody = p2p(1, "recv", -1)
    assert books.add(anybody) == (None, (anybody, waiting))
    later = p2p(0, "send", 1)
    assert books.add(later) == (None, (later,))
    assert not books.is_open()


def lines(*numbers: int) -> list[tuple[str, int]]:
    return [("a.py", number) for number in numbers]


def test_the_last_branch_counts_not_the_first() -> None:
    # rank 0 prints (12, 13), then the ranks part at 20
    fork = part(lines(10, 11, 12, 13, 19, 20, 21), lines(10, 11, 19, 20, 25))
    assert fork is not None
    assert (fork.line, fork.one_way, fork.other_way) == (("a.py", 20), tuple(lines(21)), tuple(lines(25)))


def test_equal_lines_do_not_part() -> None:
    assert part(lines(1, 2, 3), lines(1, 2, 3)) is None


def test_meeting_again_at_the_same_call_is_not_the_branch() -> None:
    # both end at line 30, after a branch at 20
    fork = part(lines(20, 21, 30), lines(20, 25, 30))
    assert fork is not None and fork.line == ("a.py", 20)


def test_out_of_step_needs_lines_that_both_ran() -> None:
    assert not out_of_step(lines(1, 2, 3), lines(1, 3))
    assert out_of_step(lines(5, 6), lines(5, 1, 2, 5, 6))


def test_lines_between_operations() -> None:
    segments = [(3, lines(1)), (4, lines(2)), (6, lines(3)), (-1, lines(4))]
    assert lines_between(segments, 3, 6) == lines(2, 3)
    assert lines_between(segments, 4, None) == lines(3, 4)
    assert lines_between(segments, 2, 6) is None  # no longer kept


def test_operations_of_other_threads_end_no_stretch() -> None:
    # 4 and 5 were issued by a thread of autograd's, while the main thread was in line 3
    segments = [(3, lines(1, 2)), (6, lines(3)), (-1, lines(4))]
    assert lines_between(segments, 4, 6) == lines(3)
    assert lines_between(segments, 3, 5) == lines(3)
    assert lines_between(segments, 6, 7) == lines(4)


def test_ranks_are_folded() -> None:
    assert ranks_text([3]) == "rank 3"
    assert ranks_text([0, 1, 2, 5]) == "ranks 0-2,5"
    assert ranks_text(range(1, 1023)) == "1022 ranks 1-1022"
