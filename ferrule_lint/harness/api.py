"""`run`: one call from code and a number of ranks to what they did."""

from __future__ import annotations

import base64
import contextlib
import functools
import importlib.util
import inspect
import os
import pickle
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ferrule_lint.harness.backend import Choice, Hardware, choose, hardware, in_the_way, needs_fresh, ranks_per_host
from ferrule_lint.harness.errors import HarnessError
from ferrule_lint.harness.explain import explain
from ferrule_lint.harness.forks import keep_forks_able
from ferrule_lint.harness.fresh import fresh_command, fresh_environment
from ferrule_lint.harness.launch import LocalProcesses, fork_ranks, preload, spawn_ranks, torch_modules_in
from ferrule_lint.harness.rank.body import Script, Setup, run_rank
from ferrule_lint.harness.rank.sites import treat_as_user
from ferrule_lint.harness.result import Result
from ferrule_lint.harness.server import Limits, Outcome, Server
from ferrule_lint.harness.supervisor import Supervisor
from ferrule_lint.harness.wire import new_token

MODES = ("lockstep", "trace", "simulate")

if TYPE_CHECKING:
    from ferrule_lint.harness.node import Node

    #: what can be run on ranks; a node is a test of the plugin's
    Target = Callable[..., Any] | Script | Node


def run(
    target: Callable[..., Any] | str | os.PathLike[str] | Node,
    *,
    ranks: int = 2,
    args: Sequence[Any] = (),
    mode: str = "lockstep",
    backend: str = "auto",
    strict: bool = False,
    timeout: float = 0.0,
    flow: bool = True,
    fresh: bool = False,
    hash_seeds: Sequence[int] | None = None,
    start_group: bool | None = None,
    capture: bool = True,
    limits: Limits | None = None,
    describe: Callable[[BaseException], str] | None = None,
) -> Result:
    """Run `target` on every rank and compare what the ranks do.

    `target` is a function, the path of a script, or `"-m module"`; `args` are its arguments. For a function the harness
    starts the default process group, a script does that itself (`start_group` says otherwise). What the function
    returns comes back in `Result.values` if it can be pickled.

    `mode`: `lockstep` holds every operation until all members have come to the same one, so that nothing wrong is ever
    issued; `trace` records and lets go; `simulate` runs one rank after the other without communication, for any number
    of ranks. `strict` (lockstep) holds asynchronous operations as well, whatever happens, and connects two ranks as
    NCCL does, in the first send of the one and the first receive of the other: opposite orders on two groups, and a
    ring of `isend`, on which NCCL may hang, show as a deadlock.

    Ranks are forks of this process, unless it has started CUDA (for NCCL: or asked for its devices), or `fresh` asks
    for interpreters of their own; `hash_seeds` (one a rank, implies `fresh`) makes the order of sets differ as it does
    between machines. `timeout` in seconds ends the run; 0 never. `flow` records which lines the ranks ran. HarnessError
    if the run cannot be done.
    """
    if mode not in MODES:
        raise HarnessError(f"unknown mode {mode!r}: expected {', '.join(MODES)}")
    if ranks < 1:
        raise HarnessError(f"ranks={ranks}: at least one is needed")
    body = _target(target, args)
    if isinstance(body, Script) and (folder := body.folder()):
        treat_as_user(folder)
    keep_forks_able()
    require_torch()
    if start_group is None:
        start_group = not isinstance(body, Script)
    if mode == "simulate":
        from ferrule_lint.harness.simulate import simulate

        if not callable(body):
            raise HarnessError("a test is simulated in forks of its process")
        return simulate(body, args, ranks, start_group=start_group, flow=flow, timeout=timeout, describe=describe)
    found = hardware()
    choice = choose(backend, ranks, found)
    asked = fresh or hash_seeds is not None
    fresh = asked or needs_fresh(choice, found)
    if hash_seeds is not None and len(hash_seeds) != ranks:
        raise HarnessError(f"{len(hash_seeds)} hash seeds for {ranks} ranks")
    host = ranks_per_host(choice, ranks, found)
    plan = _Plan(body, tuple(args), ranks, choice, host, asked, mode == "lockstep", strict, flow, start_group, describe)
    supervisor = Supervisor(ranks, lockstep=mode == "lockstep", strict=strict)
    chosen = limits or Limits(timeout=timeout)
    with tempfile.TemporaryDirectory(prefix="ferrule-") as folder, _store() as port:
        listener = socket.socket(socket.AF_UNIX)
        with listener, contextlib.ExitStack() as stack:
            outputs = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(ranks if capture else 0)]
            address = os.path.join(folder, "supervisor")
            listener.bind(address)
            listener.listen(4 * ranks + 16)
            setups = plan.setups(f"unix:{address}", new_token(), port)
            files: list[int | None] = [output.fileno() for output in outputs] if outputs else [None] * ranks
            processes = plan.spawn(setups, files, hash_seeds) if fresh else plan.fork(setups, files, listener)
            try:
                outcome = Server(listener, setups[0].token, supervisor, processes, chosen).serve()
            finally:
                processes.kill()
            texts = {rank: _read(output) for rank, output in enumerate(outputs)}
    return result_of(supervisor, outcome, mode, choice.backend, texts, _remarks(backend, choice, found))


def _remarks(wanted: str, choice: Choice, found: Hardware) -> tuple[str, ...]:
    """Why there is no NCCL although there are GPUs, and what of the environment is in the way."""
    remarks = in_the_way(gpus=choice.backend == "nccl")
    if wanted == "auto" and choice.backend == "gloo" and found.gpus:
        remarks.insert(0, f"gloo, {choice.why}")
    return tuple(remarks)


def require_torch() -> None:
    """HarnessError unless torch is installed and the recorder works with it. Leaves torch imported."""
    if importlib.util.find_spec("torch") is None:
        raise HarnessError("torch is not installed: `pip install 'ferrule-lint[harness]'`, or torch of your choice")
    from ferrule_lint.harness.rank import dispatcher

    dispatcher.check()


@dataclass(frozen=True, slots=True)
class _Plan:
    """How the ranks of one run are made."""

    target: Target
    args: tuple[Any, ...]
    ranks: int
    choice: Choice
    #: ranks of one host
    host: int
    asked_fresh: bool
    lockstep: bool
    strict: bool
    flow: bool
    start_group: bool
    describe: Callable[[BaseException], str] | None

    def setups(self, address: str, token: str, port: int) -> list[Setup]:
        backend = self.choice.default_group if self.start_group else ""
        return [
            Setup(
                rank=rank,
                world=self.ranks,
                address=address,
                token=token,
                environment={**rank_environment(rank, self.ranks, port, self.host), **self.choice.environment},
                lockstep=self.lockstep,
                pairs_connect=self.strict,
                flow=self.flow,
                backend=backend,
                gloo_only=self.choice.backend == "gloo",
                own_store=True,
            )
            for rank in range(self.ranks)
        ]

    def fork(self, setups: list[Setup], files: Sequence[int | None], listener: socket.socket) -> LocalProcesses:
        target, args = self.target, self.args
        if isinstance(target, Script) and not target.is_module:
            preload(torch_modules_in(target.name))

        def body(rank: int) -> NoReturn:
            listener.close()
            if (file := files[rank]) is not None:
                os.dup2(file, 1)
                os.dup2(file, 2)
                _reopen_streams()
            assert callable(target), "a test in forks is a function"
            call = target if isinstance(target, Script) else functools.partial(target, *args)
            run_rank(setups[rank], call, self.describe)
            raise AssertionError("a rank never returns")

        return fork_ranks(self.ranks, body)

    def spawn(self, setups: list[Setup], files: Sequence[int | None], seeds: Sequence[int] | None) -> LocalProcesses:
        command = self._fresh_command()
        environments = [
            fresh_environment(setup, None if seeds is None else seeds[rank]) for rank, setup in enumerate(setups)
        ]
        return spawn_ranks([command] * self.ranks, environments, files)

    def _fresh_command(self) -> list[str]:
        try:
            return fresh_command(self.target, self.args)
        except HarnessError as error:
            reason = "" if self.asked_fresh else "; this process has started CUDA, which its forks could not use"
            raise HarnessError(f"{error}{reason}") from None


def rank_environment(rank: int, world: int, port: int, host: int) -> dict[str, str]:
    """What torchrun sets, as far as programs look at it, for hosts of `host` ranks each."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank % host),
        "GROUP_RANK": str(rank // host),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(host),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        # the store is this process', so that no port has to be guessed
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    }


@contextlib.contextmanager
def _store() -> Iterator[int]:
    """The port of a rendezvous store that lives as long as the run."""
    import torch.distributed as dist

    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    try:
        yield store.port
    finally:
        del store


def _target(target: Callable[..., Any] | str | os.PathLike[str] | Node, args: Sequence[Any]) -> Target:
    if not callable(target) and not isinstance(target, str | os.PathLike):
        return target
    if callable(target):
        if inspect.iscoroutinefunction(target):
            raise HarnessError("coroutine functions cannot be run on ranks")
        return target
    name = os.fspath(target)
    words = tuple(str(word) for word in args)
    if name.startswith("-m "):
        return Script(name[3:].strip(), words, is_module=True)
    if not Path(name).is_file():
        raise HarnessError(f"{name}: there is no such file")
    return Script(name, words)


def _reopen_streams() -> None:
    """Python's own streams on the redirected descriptors, whatever a test runner has put in their place."""
    import faulthandler
    import io
    import sys

    sys.stdout = io.TextIOWrapper(os.fdopen(os.dup(1), "wb"), encoding="utf-8", errors="replace", line_buffering=True)
    sys.stderr = io.TextIOWrapper(os.fdopen(os.dup(2), "wb"), encoding="utf-8", errors="replace", line_buffering=True)
    if faulthandler.is_enabled():
        faulthandler.enable(sys.stderr)


def _read(file: Any) -> str:
    file.seek(0)
    data: bytes = file.read()
    return data.decode("utf-8", errors="replace")


def result_of(
    supervisor: Supervisor,
    outcome: Outcome,
    mode: str,
    backend: str,
    outputs: Mapping[int, str],
    remarks: tuple[str, ...] = (),
) -> Result:
    """What the supervisor and the server have learned, as a result."""
    return Result(
        world=supervisor.world,
        mode=mode,
        backend=backend,
        events=tuple(tuple(log) for log in supervisor.logs),
        endings=supervisor.endings,
        divergence=explain(supervisor, outcome.where, outcome.flows, outcome.latency),
        # from this program's own ranks only: who runs ranks elsewhere passes no values on
        values={rank: pickle.loads(base64.b64decode(text)) for rank, text in outcome.values.items()},
        outputs=outputs,
        seconds=outcome.seconds,
        remarks=remarks,
    )
