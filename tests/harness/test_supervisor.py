"""The supervisor's decisions, without processes: who is let go, and when the ranks have parted."""

from __future__ import annotations

from dataclasses import replace

from ferrule_lint.harness.events import Event
from ferrule_lint.harness.explain import explain
from ferrule_lint.harness.supervisor import Ending, Supervisor, Where


def event(rank: int, op: str = "all_reduce", seq: int = 0, group: str = "0", **changes: object) -> Event:
    plain = Event(rank, seq, "collective", op, group, (0, 1), seq, thread=rank + 10)
    return replace(plain, **changes)


def test_a_rank_is_held_until_all_have_come() -> None:
    supervisor = Supervisor(2)
    supervisor.issue(event(0))
    supervisor.look()
    assert supervisor.take_releases() == [] and supervisor.held
    supervisor.issue(event(1))
    assert sorted(supervisor.take_releases()) == [(0, 10), (1, 11)]
    assert not supervisor.held and supervisor.verdict is None


def test_a_mismatch_lets_nobody_go() -> None:
    supervisor = Supervisor(2)
    supervisor.issue(event(0))
    supervisor.issue(event(1, "broadcast"))
    assert supervisor.verdict is not None and supervisor.verdict.kind == "op"
    assert supervisor.take_releases() == []


def test_waiting_for_one_that_has_ended() -> None:
    for ending, kind in (
        (Ending(1, "done", 0), "exited"),
        (Ending(1, "raised", 1, "ValueError: no"), "raised"),
        (Ending(1, "killed", -11), "crashed"),
    ):
        supervisor = Supervisor(2)
        supervisor.issue(event(0))
        supervisor.end(ending)
        supervisor.look()
        assert supervisor.verdict is not None and supervisor.verdict.kind == kind


def test_all_held_is_a_deadlock_at_once() -> None:
    supervisor = Supervisor(2)
    supervisor.issue(event(0, group="1"))
    supervisor.issue(event(1, group="2"))
    supervisor.look()
    assert supervisor.verdict is not None and supervisor.verdict.kind == "deadlock"
    assert "rank 0 in all_reduce for 1" in supervisor.verdict.text


def test_other_threads_may_still_help() -> None:
    supervisor = Supervisor(2)
    supervisor.issue(event(0, group="1", alone=False))
    supervisor.issue(event(1, group="2"))
    supervisor.look()
    assert supervisor.verdict is None
    assert supervisor.stalled({0: Where(0, "held"), 1: Where(1, "held")})


def test_asynchronous_operations_are_let_go_unless_strict() -> None:
    for strict in (False, True):
        supervisor = Supervisor(2, strict=strict)
        supervisor.issue(event(0, group="1", is_async=True))
        supervisor.issue(event(1, group="2", is_async=True))
        supervisor.look()
        if strict:
            assert supervisor.verdict is not None and supervisor.verdict.kind == "deadlock"
        else:
            assert supervisor.verdict is None and len(supervisor.take_releases()) == 2


def test_a_rank_in_its_own_code_is_no_deadlock() -> None:
    supervisor = Supervisor(2)
    supervisor.issue(event(0))
    assert not supervisor.stalled({0: Where(0, "held"), 1: Where(1, "user")})
    assert not supervisor.stalled({0: Where(0, "held")})
    assert supervisor.stalled({0: Where(0, "held"), 1: Where(1, "wait")})


def test_asynchronous_point_to_point_is_never_held() -> None:
    supervisor = Supervisor(2)
    supervisor.issue(event(0, "send", kind="send", seq=-1, root=1, is_async=True))
    supervisor.issue(event(1, "recv", kind="recv", seq=-1, root=0, is_async=False))
    assert not supervisor.held
    supervisor.issue(event(1, "recv", kind="recv", seq=-1, root=0, is_async=False))
    assert list(supervisor.held) == [(1, 11)]


def connecting(rank: int, kind: str, other: int, **changes: object) -> Event:
    return event(rank, kind, kind=kind, seq=-1, root=other, pair=True, connects=True, **changes)


def test_two_ranks_are_connected_when_both_have_come() -> None:
    supervisor = Supervisor(2)
    supervisor.issue(connecting(0, "send", 1, is_async=True))
    supervisor.look()
    assert list(supervisor.held) == [(0, 10)] and not supervisor.release_async()
    supervisor.issue(connecting(1, "recv", 0, is_async=True))
    assert sorted(supervisor.take_releases()) == [(0, 10), (1, 11)] and supervisor.verdict is None


def test_what_connects_a_group_is_not_let_go() -> None:
    supervisor = Supervisor(2)
    supervisor.issue(event(0, is_async=True, connects=True))
    supervisor.issue(connecting(1, "recv", 0))
    supervisor.look()
    assert supervisor.verdict is not None and supervisor.verdict.kind == "deadlock"


def test_a_ring_in_which_each_connects_to_the_next() -> None:
    supervisor = Supervisor(3)
    for rank in range(3):
        supervisor.issue(replace(connecting(rank, "send", (rank + 1) % 3, is_async=True), members=(0, 1, 2)))
    supervisor.look()
    assert supervisor.verdict is not None and supervisor.verdict.kind == "deadlock"
    assert "outside a batch" in supervisor.verdict.text


def test_trace_holds_nobody() -> None:
    supervisor = Supervisor(2, lockstep=False)
    supervisor.issue(event(0))
    assert not supervisor.held


def test_many_ranks_are_shown_as_classes() -> None:
    members = tuple(range(1000))
    supervisor = Supervisor(1000, lockstep=False)
    for rank in members:
        op = "broadcast" if rank == 500 else "all_reduce"
        supervisor.issue(Event(rank, 0, "collective", op, "0", members, 0))
    found = explain(supervisor)
    assert found is not None
    assert [(one.doing, len(one.ranks)) for one in found.behaviours] == [("all_reduce", 999), ("broadcast", 1)]
    assert found.rows[0].cells == ("all_reduce", "broadcast")


def test_a_group_of_more_ranks_than_there_are() -> None:
    supervisor = Supervisor(1)
    supervisor.issue(Event(0, 0, "group", "new_group", "local", (0, 1), 0, request="ranks=[0, 1]"))
    supervisor.end(Ending(0, "raised", 1, "ValueError: no such rank"))
    supervisor.give_up("timeout", "not done")
    found = explain(supervisor)
    assert found is not None and [one.ranks for one in found.behaviours] == [(0,)]
