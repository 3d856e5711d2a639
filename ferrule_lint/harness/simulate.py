"""Simulation: one rank after the other, in a process each, without communication; then the logs are compared.

Any number of ranks, on one processor. What a rank does because of its own number is exact. Data are not: every member
sees what the first one put in, as if all had contributed the same (a broadcast whose source comes later brings zeros).
So a decision that was reduced over the group is the same on all ranks, as it is in reality, but a divergence that comes
from different data is not seen.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ferrule_lint.harness.divergence import Divergence
from ferrule_lint.harness.events import Event, from_wire
from ferrule_lint.harness.explain import explain
from ferrule_lint.harness.launch import fork_ranks, preload
from ferrule_lint.harness.result import Result
from ferrule_lint.harness.server import ending_from_wire, flow_from_wire
from ferrule_lint.harness.supervisor import Ending, Supervisor
from ferrule_lint.harness.wire import Frames

#: what the first member of a group put in: (group, members, sequence number) -> a small tensor, packed
Values = dict[str, Any]


def simulate(
    target: Callable[..., Any],
    args: Sequence[Any],
    ranks: int,
    *,
    start_group: bool,
    flow: bool,
    timeout: float,
    describe: Callable[[BaseException], str] | None = None,
) -> Result:
    """Run `target` as each rank of a world of `ranks`, and compare. `timeout` in seconds is for each rank; 0: none."""
    from ferrule_lint.harness.rank.body import Script
    from ferrule_lint.harness.rank.fake import find_faked, run_alone

    preload(["torch.testing._internal.distributed.fake_pg"])
    supervisor = Supervisor(ranks, lockstep=False)
    values: Values = {}
    flows: dict[int, Any] = {}
    outputs: dict[int, str] = {}
    start = time.monotonic()
    holders = find_faked()
    call = target if isinstance(target, Script) else (lambda: target(*args))
    for rank in range(ranks):
        with tempfile.TemporaryFile() as output:
            messages = _run_one(
                lambda send, rank=rank, holders=holders: run_alone(  # type: ignore[misc]
                    call,
                    rank,
                    ranks,
                    values,
                    send,
                    holders=holders,
                    start_group=start_group,
                    flow=flow,
                    describe=describe,
                ),
                output,
                timeout,
            )
            output.seek(0)
            outputs[rank] = output.read().decode("utf-8", errors="replace")
        ending = Ending(rank, "killed", 1, "the time limit was reached")
        for message in messages:
            if message["t"] == "op":
                supervisor.issue(from_wire(message["e"]))
            elif message["t"] == "value":
                values.setdefault(message["key"], message["value"])
            else:
                ending = ending_from_wire(rank, message)
                flows[rank] = flow_from_wire(message["flow"])
                if preload(message["modules"]):
                    holders = find_faked()
        supervisor.end(ending)
    supervisor.look()
    _look_for_unpaired(supervisor)
    return Result(
        world=ranks,
        mode="simulate",
        backend="fake",
        events=tuple(tuple(log) for log in supervisor.logs),
        endings=supervisor.endings,
        divergence=_first(supervisor, explain(supervisor, {}, flows)),
        outputs=outputs,
        seconds=time.monotonic() - start,
    )


def _look_for_unpaired(supervisor: Supervisor) -> None:
    """Everybody is through: what is unpaired now would have been waited for."""
    left: list[Event] = list(supervisor.ledger.unpaired())
    if supervisor.verdict is None and left:
        supervisor.give_up("unpaired", f"rank {left[0].rank} issues {left[0]}, and nobody takes part")


def _first(supervisor: Supervisor, found: Divergence | None) -> Divergence | None:
    """In a simulation an exception on all ranks alike is a failure of the program, not a divergence."""
    if found is not None and found.kind == "raised" and len({one.error for one in supervisor.endings.values()}) == 1:
        return None
    return found if found is None else replace(found, latency=0.0)


def _run_one(body: Callable[[Callable[[Any], None]], None], output: Any, timeout: float) -> list[Any]:
    """Fork, run `body` with a function that sends messages here, and collect them."""
    from ferrule_lint.harness.wire import frame

    mine, theirs = socket.socketpair()

    def rank(_: int) -> None:
        mine.close()
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        _plain_streams()
        body(lambda message: theirs.sendall(frame(message)))
        os._exit(0)

    with mine:
        processes = fork_ranks(1, rank, guarded=False)  # type: ignore[arg-type]
        theirs.close()
        frames, messages = Frames(), []
        mine.settimeout(timeout or None)
        try:
            with contextlib.suppress(TimeoutError, ConnectionError):
                while data := mine.recv(1 << 16):
                    messages.extend(frames.feed(data))
        finally:
            processes.kill()
    return messages


def _plain_streams() -> None:
    sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
    sys.stderr = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace")


def packed_key(group: str, members: Sequence[int], seq: int) -> str:
    """Members fold into their ends and count: names tell groups apart, this tells equal names apart."""
    return json.dumps([group, members[0] if members else -1, members[-1] if members else -1, len(members), seq])
