"""A rank's lines to the supervisor: one connection for each thread that issues operations, one that answers questions.

A thread that has sent an event waits on its own connection for its own go. The helper thread behind the control
connection says where the main thread is, also while that is blocked in a collective, and ends the process when the
supervisor says so or is gone: no rank outlives its supervisor.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from typing import Any, Protocol

from ferrule_lint.harness.events import Event, Site, to_wire
from ferrule_lint.harness.rank.flow import Flow
from ferrule_lint.harness.rank.sites import BACKWARD, is_torch, stack_of
from ferrule_lint.harness.rank.values import frames_of
from ferrule_lint.harness.wire import GO, WireError, connect, frame, introduce, read_exactly, read_frame

#: the exit code of a rank that was ended for a divergence, and of one whose supervisor is gone
STOPPED, ORPHANED = 86, 87


class Line(Protocol):
    """What the recorder needs of a connection to whoever collects events."""

    def issue(self, event: Event, held: bool) -> None:
        """Report an event; if `held`, return only when the operation may be issued."""

    def inside(self, state: str | None) -> None:
        """This thread is now in an operation ("collective"), in `Work.wait` ("wait"), or out of both (None)."""


class Client:
    """`lockstep` false: events are sent, and nobody waits."""

    def __init__(self, address: str, token: str, rank: int, *, lockstep: bool, flow: Flow | None = None) -> None:
        self._address, self._token, self._rank = address, token, rank
        self._lockstep = lockstep
        self._flow = flow
        self._lock = threading.Lock()
        self._connections: dict[int, socket.socket] = {}
        self._states: dict[int, str] = {}
        self._main = threading.get_ident()
        self._left = threading.Event()
        control = self._open("control")
        threading.Thread(target=self._answer, args=(control,), name="ferrule", daemon=True).start()

    def issue(self, event: Event, held: bool) -> None:
        thread = event.thread
        connection = self._connections.get(thread)
        if connection is None:
            connection = self._connections[thread] = self._open("events")
        if held and self._lockstep:
            _flush()
            self._states[thread] = "held"
            self._send(connection, {"t": "op", "e": to_wire(event)})
            try:
                if read_exactly(connection, 1) != GO:
                    os._exit(ORPHANED)
            except (OSError, WireError):
                os._exit(ORPHANED)
            self._states.pop(thread, None)
        else:
            self._send(connection, {"t": "op", "e": to_wire(event)})

    def inside(self, state: str | None) -> None:
        if state is None:
            self._states.pop(threading.get_ident(), None)
        else:
            self._states[threading.get_ident()] = state

    def end(self, ending: dict[str, Any]) -> None:
        """Report how this rank's code ended, and wait until every rank may leave.

        A rank that left earlier would take its connections with it, and break transfers that others have yet to finish.
        """
        _flush()
        connection = self._connections.get(self._main) or self._open("events")
        self._send(connection, {"t": "end", **ending, "flow": self._flow.export() if self._flow else []})
        self._left.wait()

    def _open(self, role: str) -> socket.socket:
        try:
            connection = connect(self._address)
            hello = {
                "t": "hello",
                "rank": self._rank,
                "role": role,
                "thread": threading.get_ident(),
            }
            introduce(connection, self._token, hello)
        except (OSError, WireError) as error:
            sys.stderr.write(f"ferrule: rank {self._rank} cannot reach the supervisor: {error}\n")
            os._exit(ORPHANED)
        return connection

    def _send(self, connection: socket.socket, message: dict[str, Any]) -> None:
        try:
            connection.sendall(frame(message))
        except OSError:
            os._exit(ORPHANED)

    def _answer(self, control: socket.socket) -> None:
        """The helper thread."""
        while True:
            try:
                question = read_frame(control)
            except (OSError, WireError, ValueError):
                os._exit(ORPHANED)
            if question["t"] == "where":
                self._send(control, {"t": "where", "id": question["id"], **self._where(question.get("flow", False))})
            elif question["t"] == "leave":
                # the supervisor may be gone before this process is
                self._left.set()
                return
            elif question["t"] == "stop":
                _flush()
                os._exit(question["code"])

    def _where(self, with_flow: bool) -> dict[str, Any]:
        frame = sys._current_frames().get(self._main)
        stack = stack_of(frame)
        state = self._states.get(self._main) or _state(stack)
        flow = self._flow.export() if with_flow and self._flow else []
        values = frames_of(frame) if with_flow else []
        return {"state": state, "stack": stack, "flow": flow, "values": values, "cpu": time.process_time()}


def _state(stack: tuple[Site, ...]) -> str:
    """Waiting for other ranks or in the user's code, by the innermost frames."""
    for site in stack[:3]:
        if is_torch(site.path):
            if f"{os.sep}distributed{os.sep}" in site.path:
                return "wait"
            if site.function == BACKWARD:
                return "backward"
    return "user"


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
