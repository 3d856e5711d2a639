"""Ranks that torchrun has started, on one host or several: they join a supervisor beside the rendezvous.

Rank 0 forks the supervisor, which listens on the address by which its host reaches the rendezvous store and on no
other, and leaves that address and a token in the store. The token is as secret as the job's store is: who can read that
can join.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NoReturn

from ferrule_lint.harness.backend import in_the_way
from ferrule_lint.harness.errors import HarnessError
from ferrule_lint.harness.launch import die_with
from ferrule_lint.harness.rank.body import Script, Setup, run_rank
from ferrule_lint.harness.result import Result
from ferrule_lint.harness.server import Limits, Outcome, Server
from ferrule_lint.harness.supervisor import Supervisor
from ferrule_lint.harness.wire import new_token

#: between hosts, waiting is not so soon suspicious
LIMITS = Limits(stall=10.0, user=120.0)
#: seconds until all hosts have to have joined
PATIENCE = 300.0


class _Elsewhere:
    """Ranks that are not this process' children."""

    def pids(self) -> Mapping[int, int]:
        return {}

    def ended(self) -> Mapping[int, int]:
        return {}

    def kill(self) -> None:
        """They are told to stop over their connections."""


def is_launched() -> bool:
    """Has torchrun started this process as a rank?"""
    return "TORCHELASTIC_RUN_ID" in os.environ and "RANK" in os.environ


def join(
    script: Script,
    show: Callable[[Result], object],
    *,
    mode: str = "lockstep",
    backend: str = "auto",
    strict: bool = False,
    timeout: float = 0.0,
    flow: bool = True,
) -> NoReturn:
    """Run `script` as the rank that torchrun has made this process; never returns.

    `show` is called once, on rank 0's host, with the result. HarnessError if the store cannot be reached.
    """
    if mode == "simulate":
        raise HarnessError("simulation needs one process only: leave torchrun out")
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = _store()
    key = f"ferrule/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/supervisor"
    if rank == 0:
        limits = replace(LIMITS, timeout=timeout, start=PATIENCE)
        store.set(key, json.dumps(_fork_supervisor(world, mode, strict, limits, show)))
    try:
        found = json.loads(store.get(key))
    except Exception as error:
        raise HarnessError(f"rank 0 has left no supervisor in the rendezvous store: {error}") from None
    del store
    setup = Setup(
        rank=rank,
        world=world,
        address=found["address"],
        token=found["token"],
        environment={"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")},
        lockstep=mode == "lockstep",
        pairs_connect=strict,
        flow=flow,
        gloo_only=backend == "gloo",
        forked=False,
    )
    run_rank(setup, script)
    raise AssertionError("a rank never returns")


def _store() -> Any:
    import torch.distributed as dist

    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        raise HarnessError("torchrun's own store is needed: unset TORCH_DISABLE_SHARE_RDZV_TCP_STORE")
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    try:
        return dist.TCPStore(host, port, is_master=False, timeout=timedelta(seconds=PATIENCE))
    except Exception as error:
        raise HarnessError(f"the rendezvous store at {host}:{port} cannot be reached: {error}") from None


def _fork_supervisor(
    world: int, mode: str, strict: bool, limits: Limits, show: Callable[[Result], object]
) -> dict[str, str]:
    """Start the supervisor as a child that ends with this process; its address and token."""
    host = _own_address(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    listener = socket.create_server(
        (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=world * 4
    )
    port = listener.getsockname()[1]
    token = new_token()
    parent = os.getpid()
    if os.fork() == 0:
        try:
            die_with(parent)
            supervisor = Supervisor(world, lockstep=mode == "lockstep", strict=strict)
            server = Server(listener, token, supervisor, _Elsewhere(), limits)

            def before_the_end(outcome: Outcome) -> None:
                show(_result(supervisor, outcome, mode))

            server.serve(before_the_end)
        except BaseException:
            sys.stderr.write(traceback.format_exc())
        finally:
            sys.stderr.flush()
            os._exit(0)
    listener.close()
    return {"address": f"tcp:{host}:{port}", "token": token}


def _own_address(host: str, port: int) -> str:
    """The address of this host on the way to another; nothing is sent."""
    family = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family[0], socket.SOCK_DGRAM) as probe:
        probe.connect(family[4])
        address: str = probe.getsockname()[0]
        return address


def _result(supervisor: Supervisor, outcome: Outcome, mode: str) -> Result:
    from ferrule_lint.harness.api import result_of

    outcome.values.clear()
    return result_of(supervisor, outcome, mode, "torchrun", {}, tuple(in_the_way()))
