"""The event loop around a supervisor: connections, questions to the ranks, deadlines, and the end of everything.

It does not know how ranks are started. `processes` says which have ended by themselves and ends the rest; ranks on
other hosts are told to stop over their control connection.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ferrule_lint.harness.activity import Activity
from ferrule_lint.harness.events import Site, from_wire
from ferrule_lint.harness.supervisor import Ending, Supervisor, Where
from ferrule_lint.harness.wire import GO, Frames, WireError, frame, is_genuine, new_nonce

#: a rank's lines: (index of the operation that ended the segment, [(path, line), ...])
Flows = dict[int, list[tuple[int, list[tuple[str, int]]]]]

#: seconds between two looks at ranks that send nothing
TICK = 0.1
#: seconds without any event after which held asynchronous operations are let go
QUIET = 0.3
#: seconds that the ranks have to tell where they are
ANSWER = 1.0
#: seconds of CPU time between two looks at a rank on another host that count as none
REMOTE_NOISE = 0.02
#: seconds that ranks on other hosts have to hang up
GOODBYE = 3.0
#: seconds after a clash for the other ranks to arrive, so that the report shows them
LINGER = 0.05


class Processes(Protocol):
    """The ranks' processes, as far as they are on this machine."""

    def pids(self) -> Mapping[int, int]:
        """rank -> process id."""

    def ended(self) -> Mapping[int, int]:
        """rank -> exit code (negative: signal), of those that have ended."""

    def kill(self) -> None:
        """End all that is left, with what it has started."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds. `stall`: all ranks wait for each other and none works; `user`: one of them is idle in its own code;
    `timeout`: the whole run; 0 for none. `start`: until every rank has called in."""

    stall: float = 0.5
    user: float = 60.0
    timeout: float = 0.0
    start: float = 120.0


@dataclass(slots=True)
class Outcome:
    """What the server has learned besides the supervisor's books."""

    seconds: float = 0.0
    #: from the arrival of the last event to the verdict, in seconds
    latency: float = 0.0
    where: dict[int, Where] = field(default_factory=dict)
    flows: Flows = field(default_factory=dict)
    values: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Peer:
    connection: socket.socket
    nonce: bytes
    frames: Frames = field(default_factory=Frames)
    rank: int = -1
    role: str = ""
    thread: int = 0


class Server:
    """Serves one run from the first connection to the last rank's end."""

    def __init__(
        self, listener: socket.socket, token: str, supervisor: Supervisor, processes: Processes, limits: Limits
    ) -> None:
        self._listener, self._token = listener, token
        self._supervisor, self._processes, self._limits = supervisor, processes, limits
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._control: dict[int, _Peer] = {}
        self._threads: dict[tuple[int, int], _Peer] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._asked = 0
        self._activity = Activity()
        self._outcome = Outcome()
        self._last_event = 0.0
        self._cpu_elsewhere = 0.0
        self._pending: list[Ending] = []

    def serve(self, before_the_end: Callable[[Outcome], None] = lambda outcome: None) -> Outcome:
        """Until all ranks have ended or a verdict is there. Afterwards no rank is alive.

        `before_the_end` is called once when the outcome is known and the ranks still wait.
        """
        start = self._last_event = time.monotonic()
        tick = start
        try:
            while self._supervisor.verdict is None and self._supervisor.live:
                self._read(TICK)
                self._supervisor.look()
                self._send_releases()
                now = time.monotonic()
                if now - tick >= TICK:
                    tick = now
                    self._reap()
                    self._when_quiet(now - self._last_event)
                    self._deadlines(now - start)
            if self._supervisor.verdict is not None:
                self._outcome.latency = max(time.monotonic() - self._last_event, 0.0)
                self._explain()
            self._outcome.seconds = time.monotonic() - start
            before_the_end(self._outcome)
            if self._supervisor.verdict is None:
                self._let_leave()
        finally:
            self._stop_all()
        return self._outcome

    def _read(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._listener:
                self._accept()
            else:
                self._receive(key.data)
        if self._pending:
            # what other threads of these ranks have sent before is there by now
            for key, _ in self._selector.select(0):
                if key.fileobj is not self._listener:
                    self._receive(key.data)
            for ending in self._pending:
                self._supervisor.end(ending)
            self._pending.clear()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = _Peer(connection, new_nonce())
        self._selector.register(connection, selectors.EVENT_READ, peer)
        with contextlib.suppress(OSError):
            connection.sendall(peer.nonce)

    def _drop(self, peer: _Peer) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(peer.connection)
        peer.connection.close()

    def _receive(self, peer: _Peer) -> None:
        try:
            data = peer.connection.recv(1 << 16)
            messages = peer.frames.feed(data)
        except (OSError, WireError):
            data, messages = b"", []
        if not data:
            self._drop(peer)
            if peer.role == "control" and peer.rank not in self._processes.pids():
                # a rank on another host: nobody else will say that it is gone
                self._pending.append(Ending(peer.rank, "killed", 1))
            return
        for message in messages:
            if peer.rank < 0:
                if not self._welcome(peer, message):
                    self._drop(peer)
                    return
            else:
                self._handle(peer, message)

    def _welcome(self, peer: _Peer, hello: Any) -> bool:
        if not is_genuine(self._token, peer.nonce, hello):
            return False
        rank = hello.get("rank")
        if not isinstance(rank, int) or not 0 <= rank < self._supervisor.world:
            return False
        peer.rank, peer.role, peer.thread = rank, hello["role"], hello["thread"]
        if peer.role == "control":
            self._control[rank] = peer
        else:
            self._threads[rank, peer.thread] = peer
        return True

    def _handle(self, peer: _Peer, message: dict[str, Any]) -> None:
        kind = message["t"]
        if kind == "op":
            self._last_event = time.monotonic()
            self._supervisor.issue(from_wire(message["e"]))
            self._send_releases()
        elif kind == "end":
            self._last_event = time.monotonic()
            self._pending.append(ending_from_wire(peer.rank, message))
            self._outcome.flows[peer.rank] = flow_from_wire(message["flow"])
            if message.get("value"):
                self._outcome.values[peer.rank] = message["value"]
        elif kind == "where" and message["id"] == self._asked:
            self._answers[peer.rank] = message

    def _send_releases(self) -> None:
        for who in self._supervisor.take_releases():
            with contextlib.suppress(OSError, KeyError):
                self._threads[who].connection.sendall(GO)

    def _reap(self) -> None:
        for rank, code in self._processes.ended().items():
            if rank not in self._supervisor.endings:
                # its last words may still be on their way
                self._read(0)
                self._supervisor.end(Ending(rank, "killed", code))

    def _when_quiet(self, quiet: float) -> None:
        """Nothing has been heard for a while: let asynchronous operations go, then ask where everybody is."""
        limits = self._limits
        if quiet < min(QUIET, limits.stall) or not self._supervisor.ledger.is_open():
            return
        if not self._is_flat():
            return
        if self._supervisor.release_async():
            self._send_releases()
            self._last_event = time.monotonic()
            return
        if quiet < limits.stall:
            return
        asked = self._ask()
        if time.monotonic() - self._last_event < quiet:
            return
        self._supervisor.stalled(asked)
        if self._supervisor.verdict is None and quiet > limits.user:
            idle = [place for place in asked.values() if place.state == "user"]
            words = "; ".join(f"rank {one.rank} is idle at {_place(one)}" for one in idle[:4])
            self._supervisor.give_up(
                "stall", f"nothing has moved for {quiet:.0f} s: {words or 'the ranks do not answer'}"
            )

    def _deadlines(self, running: float) -> None:
        limits = self._limits
        if limits.timeout and running > limits.timeout:
            self._outcome.where = self._ask()
            places = "; ".join(self._last_seen(rank) for rank in self._supervisor.live[:4])
            self._supervisor.give_up("timeout", f"not done after {limits.timeout:g} s: {places}")
        silent = [rank for rank in self._supervisor.live if rank not in self._control]
        if silent and running > limits.start:
            for rank in silent:
                self._supervisor.end(Ending(rank, "killed", 1, "it never called in"))

    def _last_seen(self, rank: int) -> str:
        """Where a rank is, or what it had come to before it was too busy to say."""
        if where := self._outcome.where.get(rank):
            return f"rank {rank} at {_place(where)}"
        log = self._supervisor.logs[rank]
        if not log:
            return f"rank {rank} does not answer"
        site = f" at {log[-1].site.place}" if log[-1].site else ""
        return f"rank {rank} does not answer (last seen in {log[-1].op}{site})"

    def _is_flat(self) -> bool:
        """Has no rank worked since the last look? Ranks on other hosts are asked for their CPU time."""
        if self._processes.pids():
            return self._activity.is_flat(self._local_pids())
        self._ask()
        now = sum(float(answer["cpu"]) for answer in self._answers.values())
        before, self._cpu_elsewhere = self._cpu_elsewhere, now
        return now - before <= REMOTE_NOISE * len(self._answers)

    def _local_pids(self) -> list[int]:
        return [pid for rank, pid in self._processes.pids().items() if rank not in self._supervisor.endings]

    def _ask(self, *, flow: bool = False) -> dict[int, Where]:
        """Where all live ranks are; those that do not answer in time are missing."""
        self._asked += 1
        self._answers.clear()
        question = frame({"t": "where", "id": self._asked, "flow": flow})
        asked = set()
        for rank in self._supervisor.live:
            with contextlib.suppress(OSError, KeyError):
                self._control[rank].connection.sendall(question)
                asked.add(rank)
        end = time.monotonic() + ANSWER
        while set(self._answers) < asked and time.monotonic() < end:
            before = len(self._answers)
            self._read(0.02)
            self._send_releases()
            if len(self._answers) == before:
                self._reap()
                asked -= set(self._supervisor.endings)
        return {
            rank: Where(rank, answer["state"], tuple(Site(*site) for site in answer["stack"]), _frames(answer))
            for rank, answer in self._answers.items()
        }

    def _explain(self) -> None:
        """A verdict is there: let others arrive, then ask everybody how they got where they are."""
        verdict = self._supervisor.verdict
        awaited = set(verdict.events[0].members) if verdict is not None and verdict.events else set()
        end = time.monotonic() + LINGER
        while time.monotonic() < end:
            if awaited <= {rank for rank, _ in self._supervisor.held} | set(self._supervisor.endings):
                break
            self._read(0.01)
        self._outcome.where = self._ask(flow=True) or self._outcome.where
        for rank, answer in self._answers.items():
            self._outcome.flows[rank] = flow_from_wire(answer["flow"])

    def _let_leave(self) -> None:
        # rank 0 last: under torchrun this process ends with it
        for _, peer in sorted(self._control.items(), reverse=True):
            with contextlib.suppress(OSError):
                peer.connection.sendall(frame({"t": "leave"}))
        end = time.monotonic() + 2.0
        while time.monotonic() < end and len(self._processes.ended()) < len(self._processes.pids()):
            time.sleep(0.001)

    def _stop_all(self) -> None:
        if self._supervisor.verdict is not None:
            for _, peer in sorted(self._control.items(), reverse=True):
                with contextlib.suppress(OSError):
                    peer.connection.sendall(frame({"t": "stop", "code": 86}))
        self._processes.kill()
        if not self._processes.pids():
            self._await_hanging_up()
        for key in list(self._selector.get_map().values()):
            if key.fileobj is not self._listener:
                self._drop(key.data)
        self._selector.close()

    def _await_hanging_up(self) -> None:
        """Ranks on other hosts have been told to stop or leave: they hang up when they do."""
        end = time.monotonic() + GOODBYE
        waiting = {peer.connection.fileno() for peer in self._control.values()}
        while time.monotonic() < end and waiting:
            for key, _ in self._selector.select(0.1):
                if key.fileobj is not self._listener:
                    self._receive(key.data)
            waiting = {fd for fd in waiting if fd in {key.fd for key in self._selector.get_map().values()}}


def _place(where: Where) -> str:
    return f"{where.stack[0].place} in {where.stack[0].function}" if where.stack else "an unknown place"


def _frames(answer: dict[str, Any]) -> tuple[tuple[Site, Mapping[str, str]], ...]:
    return tuple((Site(path, line, function), values) for path, line, function, values in answer["values"])


def flow_from_wire(segments: list[Any]) -> list[tuple[int, list[tuple[str, int]]]]:
    """A control-flow trace as a rank has sent it."""
    return [(index, [(path, line) for path, line in lines]) for index, lines in segments]


def ending_from_wire(rank: int, message: dict[str, Any]) -> Ending:
    """How a rank says that it ended."""
    site = message.get("site")
    return Ending(
        rank,
        message["status"],
        message["code"],
        message.get("error", ""),
        message.get("traceback", ""),
        Site(*site) if site else None,
    )
