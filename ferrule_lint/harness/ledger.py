"""The books of a run: which collectives are open, who has arrived, which sends wait for which receives.

Groups are told apart by members and name: torch names the groups of a healthy program alike on all members, and its own
rendezvous relies on it. Point-to-point operations pair in order, for each sender, receiver, tag and group.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ferrule_lint.harness.events import Event
from ferrule_lint.harness.matching import Mismatch, mismatch, p2p_mismatch

#: group name, members, sequence number
Key = tuple[str, tuple[int, ...], int]
#: sender, receiver, tag, group name, whether on a communicator of the two
Lane = tuple[int, int, int, str, bool]


@dataclass(frozen=True, slots=True)
class Clash:
    """Events that do not fit together, and why; the first is the one that was there before."""

    mismatch: Mismatch
    events: tuple[Event, ...]


@dataclass(slots=True)
class Slot:
    """One collective of one group: the events of the members that have arrived."""

    key: Key
    events: dict[int, Event] = field(default_factory=dict)

    @property
    def members(self) -> tuple[int, ...]:
        return self.key[1]

    @property
    def missing(self) -> tuple[int, ...]:
        return tuple(rank for rank in self.members if rank not in self.events)


def key_of(event: Event) -> Key:
    return (event.group, event.members, event.seq)


@dataclass(slots=True)
class Ledger:
    """All open collectives and unpaired point-to-point operations."""

    slots: dict[Key, Slot] = field(default_factory=dict)
    sends: dict[Lane, deque[Event]] = field(default_factory=dict)
    receives: dict[Lane, deque[Event]] = field(default_factory=dict)
    #: collectives that all members of a group have matched, by group
    matched: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)
    #: receivers that take from anybody, by group: what is sent there cannot be paired
    wild: set[tuple[int, str]] = field(default_factory=set)

    def add(self, event: Event) -> tuple[Clash | None, tuple[Event, ...]]:
        """Book an event: a clash with what is there, and the events that this one has completed (itself included)."""
        return self._add_p2p(event) if event.is_p2p else self._add_collective(event)

    def _add_collective(self, event: Event) -> tuple[Clash | None, tuple[Event, ...]]:
        key = key_of(event)
        slot = self.slots.setdefault(key, Slot(key))
        before = list(slot.events.values())
        slot.events[event.rank] = event
        pairwise = bool(event.sends or event.room)
        for other in before if pairwise else before[:1]:
            if found := mismatch(other, event):
                return Clash(found, (other, event)), ()
        if slot.missing:
            return None, ()
        del self.slots[key]
        self.matched[key[:2]] = self.matched.get(key[:2], 0) + 1
        return None, tuple(slot.events.values())

    def _add_p2p(self, event: Event) -> tuple[Clash | None, tuple[Event, ...]]:
        if event.kind == "recv" and event.root < 0:
            self.wild.add((event.rank, event.group))
            waiting = [one for one in self._unpaired(self.sends) if (one.root, one.group) in self.wild]
            self.sends = {lane: queue for lane, queue in self.sends.items() if (lane[1], lane[3]) not in self.wild}
            return None, (event, *waiting)
        sender, receiver = (event.rank, event.root) if event.kind == "send" else (event.root, event.rank)
        if (receiver, event.group) in self.wild:
            return None, (event,)
        lane = (sender, receiver, event.tag, event.group, event.pair)
        mine, theirs = (self.sends, self.receives) if event.kind == "send" else (self.receives, self.sends)
        waiting_peers = theirs.get(lane)
        if not waiting_peers:
            mine.setdefault(lane, deque()).append(event)
            return None, ()
        peer = waiting_peers.popleft()
        send, recv = (event, peer) if event.kind == "send" else (peer, event)
        if found := p2p_mismatch(send, recv):
            return Clash(found, (send, recv)), ()
        return None, (event, peer)

    @staticmethod
    def _unpaired(queues: dict[Lane, deque[Event]]) -> Iterator[Event]:
        for queue in queues.values():
            yield from queue

    def unpaired(self) -> Iterator[Event]:
        """Point-to-point operations whose counterpart has not been issued."""
        yield from self._unpaired(self.sends)
        yield from self._unpaired(self.receives)

    def waits_for(self, event: Event) -> tuple[int, ...]:
        """The ranks that have to act before this open event can complete; none if it is not open."""
        if event.is_p2p:
            return (event.root,) if any(one is event for one in self.unpaired()) else ()
        slot = self.slots.get(key_of(event))
        return slot.missing if slot else ()

    def is_open(self) -> bool:
        """Does anything wait for another rank?"""
        return bool(self.slots) or any(True for _ in self.unpaired())

    def oldest(self, keys: Iterable[Key]) -> Slot | None:
        """The open slot with the smallest sequence number among these."""
        slots = [self.slots[key] for key in keys if key in self.slots]
        return min(slots, key=lambda slot: slot.key[2], default=None)
