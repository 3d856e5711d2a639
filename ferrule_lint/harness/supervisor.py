"""Decides, as events arrive, whether the ranks still agree, who may go on, and when they never will again.

Pure state: no sockets, no processes, no clock. The server feeds it, sends out the releases, and asks it again when
nothing moves. Three of its verdicts need no timer: a mismatch, a wait for a rank that has ended, and a deadlock in
which every rank is held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ferrule_lint.harness.events import Event, Site
from ferrule_lint.harness.ledger import Ledger, Slot, key_of

#: events of one rank that are kept; the oldest go first
MOST_EVENTS = 100_000

#: what a rank's main thread does, as its helper thread sees it; the first four wait for other ranks
WAITING = ("held", "collective", "wait", "backward")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a rank ended. `status` is "done", "exit" (with a code), "raised" or "killed" (by a signal, or vanished)."""

    rank: int
    status: str
    code: int
    error: str = ""
    traceback: str = ""
    site: Site | None = None

    @property
    def failed(self) -> bool:
        return self.code != 0 or self.status in ("raised", "killed")

    def __str__(self) -> str:
        if self.status == "raised":
            return f"raised {self.error.splitlines()[0][:160] if self.error else 'an exception'}"
        if self.status == "killed":
            return f"was killed by signal {-self.code}" if self.code < 0 else f"vanished with exit code {self.code}"
        return "ended" if not self.code else f"ended with exit code {self.code}"


@dataclass(frozen=True, slots=True)
class Where:
    """Where a rank's main thread is: `state` is one of WAITING, or "user"."""

    rank: int
    state: str
    stack: tuple[Site, ...] = ()
    #: the user's innermost frames: where each is, and what its variables hold
    frames: tuple[tuple[Site, Mapping[str, str]], ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The ranks have parted. `events` are those that clash or wait; `absent` the ranks that are waited for."""

    kind: str
    text: str
    events: tuple[Event, ...]
    absent: tuple[int, ...] = ()


@dataclass(slots=True)
class Supervisor:
    """`lockstep`: issuing threads are held until the counterpart has arrived. `strict`: asynchronous ones always."""

    world: int
    lockstep: bool = True
    strict: bool = False
    ledger: Ledger = field(default_factory=Ledger)
    endings: dict[int, Ending] = field(default_factory=dict)
    #: (rank, thread) -> the event at which it is held
    held: dict[tuple[int, int], Event] = field(default_factory=dict)
    verdict: Verdict | None = None
    logs: list[deque[Event]] = field(init=False)
    _releases: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.logs = [deque(maxlen=MOST_EVENTS) for _ in range(self.world)]

    @property
    def live(self) -> list[int]:
        return [rank for rank in range(self.world) if rank not in self.endings]

    def issue(self, event: Event) -> None:
        """A rank has come to an operation and, in lockstep, waits to be let go."""
        self.logs[event.rank].append(event)
        if self.lockstep and holds(event):
            self.held[event.rank, event.thread] = event
        clash, completed = self.ledger.add(event)
        if clash is not None:
            self._decide(clash.mismatch.kind, clash.mismatch.text, clash.events)
        if self.verdict is None:
            self._release(completed)

    def end(self, ending: Ending) -> None:
        self.endings.setdefault(ending.rank, ending)

    def take_releases(self) -> list[tuple[int, int]]:
        """The (rank, thread) pairs that may go on since the last call."""
        taken, self._releases = self._releases, []
        return taken

    def look(self) -> None:
        """The verdicts that need no timer, once all that has arrived is booked."""
        if self.verdict is None:
            self._look_for_ended()
        if self.verdict is None and self.lockstep:
            self._look_for_deadlock()

    def release_async(self) -> bool:
        """Let asynchronous operations go: their callers do not wait in them. Has anything been released?"""
        waiting = [event for event in self.held.values() if event.is_async and not event.connects]
        if self.strict or not waiting:
            return False
        self._release(waiting)
        return True

    def stalled(self, where: Mapping[int, Where]) -> bool:
        """Nothing has moved for a while: are all live ranks waiting for each other? Decides if so."""
        if self.verdict is not None or not self.live:
            return False
        if any(where[rank].state not in WAITING if rank in where else True for rank in self.live):
            return False
        text = "no rank can go on: " + self._who_waits() + _connecting(self.held.values())
        return self.give_up("deadlock", text)

    def give_up(self, kind: str, text: str) -> bool:
        """Decide on what is open now, if anything is."""
        slots = sorted(self.ledger.slots.values(), key=lambda slot: slot.key[2])
        events = [event for slot in slots for event in slot.events.values()] + list(self.ledger.unpaired())
        if not events and kind != "timeout":
            return False
        self._decide(kind, text, events, self._absent(slots))
        return True

    def finish(self) -> None:
        """All ranks have ended; what is still unpaired was waited for by nobody unless the run was simulated."""
        self.look()

    def _look_for_ended(self) -> None:
        for slot in self.ledger.slots.values():
            if gone := [rank for rank in slot.missing if rank in self.endings]:
                waits = ", ".join(sorted({event.op for event in slot.events.values()}))
                text = (
                    f"{_ranks(slot.events)} in {waits}, but rank {gone[0]} {self.endings[gone[0]]} without issuing it"
                )
                return self._decide(self._kind(gone), text, slot.events.values(), slot.missing)
        for event in self.held.values():
            if event.is_p2p and event.root in self.endings:
                wanted = "receive" if event.kind == "send" else "send"
                text = f"rank {event.rank} in {event}, but rank {event.root} {self.endings[event.root]} "
                return self._decide(self._kind([event.root]), text + f"without a {wanted}", [event], (event.root,))
        return None

    def _kind(self, gone: list[int]) -> str:
        status = {self.endings[rank].status for rank in gone}
        return "crashed" if "killed" in status else "raised" if "raised" in status else "exited"

    def _look_for_deadlock(self) -> None:
        blocked: dict[int, Event] = {rank: event for (rank, _), event in self.held.items() if event.alone}
        if not self.live or any(rank not in blocked for rank in self.live) or self.release_async():
            return
        slots = [
            self.ledger.slots[key] for key in dict.fromkeys(map(key_of, blocked.values())) if key in self.ledger.slots
        ]
        text = "every rank waits for another one: " + self._who_waits() + _connecting(blocked.values())
        self._decide("deadlock", text, blocked.values(), self._absent(slots))

    def _who_waits(self, most: int = 4) -> str:
        """`rank 0 in all_reduce for rank 1, ...`"""
        words = []
        waiting: dict[int, Event] = {}
        for slot in self.ledger.slots.values():
            waiting |= {rank: event for rank, event in slot.events.items() if rank not in waiting}
        waiting |= {event.rank: event for event in self.ledger.unpaired() if event.rank not in waiting}
        waiting |= {rank: event for (rank, _), event in self.held.items()}
        for rank, event in sorted(waiting.items()):
            others = self.ledger.waits_for(event)
            if others:
                shown = ", ".join(map(str, others[:most])) + (", ..." if len(others) > most else "")
                words.append(f"rank {rank} in {event.op} for {shown}")
        return "; ".join(words[:most]) + ("; ..." if len(words) > most else "")

    @staticmethod
    def _absent(slots: Iterable[Slot]) -> tuple[int, ...]:
        return tuple(sorted({rank for slot in slots for rank in slot.missing}))

    def _release(self, events: Iterable[Event]) -> None:
        for event in events:
            who = (event.rank, event.thread)
            if self.held.get(who) is event:
                del self.held[who]
                self._releases.append(who)

    def _decide(self, kind: str, text: str, events: Iterable[Event], absent: tuple[int, ...] = ()) -> None:
        if self.verdict is None:
            self.verdict = Verdict(kind, text, tuple(events), absent)


def holds(event: Event) -> bool:
    """Is the issuing thread held in lockstep? Asynchronous sends and receives are not, unless they connect ranks."""
    return event.connects or not (event.is_p2p and (event.is_async or event.root < 0))


def _connecting(events: Iterable[Event]) -> str:
    """Why a rank waits in what does not wait, by its documentation."""
    if any(event.connects and event.is_async for event in events):
        return " (NCCL connects ranks in a group's first collective, and in the first send and receive outside a batch)"
    return ""


def _ranks(events: Iterable[int]) -> str:
    ranks = sorted(events)
    if len(ranks) == 1:
        return f"rank {ranks[0]} waits"
    shown = ", ".join(map(str, ranks[:4])) + (", ..." if len(ranks) > 4 else "")
    return f"ranks {shown} wait"
