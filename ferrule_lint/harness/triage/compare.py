"""The first difference between the dumps of a job, group by group, in the supervisor's books."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ferrule_lint.harness.divergence import Divergence
from ferrule_lint.harness.explain import explain
from ferrule_lint.harness.supervisor import Supervisor
from ferrule_lint.harness.triage.dumps import Dump


@dataclass(frozen=True, slots=True)
class Triage:
    """`divergence` None: the dumped ranks have issued the same. `remarks`: what else matters, and what is missing."""

    dumps: int
    entries: int
    divergence: Divergence | None
    remarks: tuple[str, ...] = ()


def triage(dumps: Sequence[Dump]) -> Triage:
    """Compare the ranks of a job.

    A Flight Recorder keeps the last operations only, so a group is compared from the first number that all its dumped
    members still have. It knows neither roots nor reduce operations.
    """
    ranks = {dump.rank for dump in dumps}
    world = max(max((max(e.event.members, default=0) for e in dump.entries), default=0) for dump in dumps)
    supervisor = Supervisor(max(world, *ranks) + 1, lockstep=False)
    start = _starts(dumps)
    for dump in dumps:
        for entry in dump.entries:
            event = entry.event
            members = tuple(rank for rank in event.members if rank in ranks)
            if event.is_p2p and (entry.is_done or event.root not in ranks):
                continue
            if event.is_p2p or event.seq >= start.get(event.group, 0):
                supervisor.issue(replace(event, members=members))
    if supervisor.verdict is None:
        _look_for_missing(supervisor)
    found = explain(supervisor)
    return Triage(len(dumps), sum(len(dump.entries) for dump in dumps), found, tuple(_remarks(dumps, ranks, found)))


def _starts(dumps: Sequence[Dump]) -> dict[str, int]:
    """The first number of each group that all dumps which mention the group still have."""
    starts: dict[str, int] = {}
    for dump in dumps:
        first: dict[str, int] = {}
        for entry in dump.entries:
            if not entry.event.is_p2p:
                first.setdefault(entry.event.group, entry.event.seq)
        for group, number in first.items():
            starts[group] = max(starts.get(group, 0), number)
    return starts


def _look_for_missing(supervisor: Supervisor) -> None:
    slots = sorted(supervisor.ledger.slots.values(), key=lambda slot: slot.key[2])
    if slots:
        slot = slots[0]
        op = next(iter(slot.events.values())).op
        missing = ", ".join(map(str, slot.missing[:8])) + (", ..." if len(slot.missing) > 8 else "")
        rank = "rank" if len(slot.missing) == 1 else "ranks"
        text = f"{rank} {missing} never issued {op} #{slot.key[2]} of group {slot.key[0]!r}, in which the others wait"
        supervisor.give_up("stall", text)
    elif left := list(supervisor.ledger.unpaired()):
        supervisor.give_up("unpaired", f"rank {left[0].rank} waits in {left[0]}, and nobody takes part")


def _remarks(dumps: Sequence[Dump], ranks: set[int], found: Divergence | None) -> list[str]:
    remarks = []
    expected = {rank for dump in dumps for entry in dump.entries for rank in entry.event.members}
    if missing := sorted(expected - ranks):
        shown = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")
        remarks.append(f"no dump of rank {shown}: a rank that has left none has often died first; look at its log")
    if found is None:
        for dump in dumps:
            stuck = next((entry for entry in dump.entries if not entry.is_done), None)
            if stuck is not None:
                remarks.append(
                    f"rank {dump.rank}: {stuck.event} #{stuck.event.seq} is {stuck.state}. All dumped ranks have issued"
                    " the same, so this hang is not a divergence of theirs: suspect network, hardware, or a rank"
                    " without a dump"
                )
                break
    return remarks
