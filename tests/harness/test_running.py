"""Runs as a whole: results, scripts, fresh interpreters, simulation, trace; no rank survives, no stranger joins."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402

from ferrule_lint.harness import HarnessError, run  # noqa: E402
from ferrule_lint.harness.errors import DivergenceError  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


def total(start: float) -> float:
    x = torch.full((2,), start + dist.get_rank())
    dist.all_reduce(x)
    print("rank", dist.get_rank(), "is done")
    return x.sum().item()


def test_values_outputs_and_events() -> None:
    result = run(total, ranks=3, args=(1.0,))
    assert result.ok and result.exit_code == 0 and not result.report()
    assert result.values == {0: 12.0, 1: 12.0, 2: 12.0}
    # some versions of torch write lines of their own before
    assert result.outputs[2].endswith("rank 2 is done\n")
    (start, reduction) = result.events[1]
    assert start.op == "init_process_group"
    assert str(reduction) == "all_reduce float32[2] SUM"
    assert (reduction.members, reduction.seq, reduction.rank) == ((0, 1, 2), 0, 1)
    assert reduction.site is not None and reduction.site.function == "total"
    result.raise_for_divergence()


def test_fresh_interpreters_import_the_function() -> None:
    result = run(total, ranks=2, args=(1.0,), fresh=True)
    assert result.values == {0: 6.0, 1: 6.0}, result.outputs


def test_fresh_interpreters_refuse_what_cannot_be_found() -> None:
    with pytest.raises(HarnessError, match="cannot be run in fresh interpreters: it is not at the top of a file"):
        run(lambda: None, fresh=True)


def in_the_order_of_a_set() -> None:
    for name in {"tower", "head", "words", "metadata", "mix", "patches"}:
        dist.all_reduce(torch.ones(len(name)))


def test_forks_share_a_hash_seed_and_fresh_interpreters_need_not() -> None:
    assert run(in_the_order_of_a_set).ok
    result = run(in_the_order_of_a_set, hash_seeds=[1, 2])
    assert result.divergence is not None and result.divergence.kind == "shape", result.outputs
    # they ran the same lines: what differs is a value, and this is where it comes from
    assert result.divergence.cause == f"{__file__}:{in_the_order_of_a_set.__code__.co_firstlineno + 1}"
    assert "what differs is a value: `name` of" in result.report()


SCRIPT = """
import sys
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if sys.argv[1:] == ["diverge"] and dist.get_rank() == 0:
    dist.all_reduce(torch.ones(3))
dist.barrier()
print("arguments", sys.argv[1:])
sys.exit(int(sys.argv[2]) if sys.argv[1:2] == ["exit"] else 0)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def test_script(script: Path) -> None:
    result = run(script, args=["one"])
    assert result.ok and result.outputs[0].endswith("arguments ['one']\n")
    diverged = run(script, args=["diverge"])
    assert diverged.divergence is not None and diverged.divergence.cause == f"{script}:7"
    with pytest.raises(DivergenceError, match="rank 0 issues all_reduce, rank 1 barrier"):
        diverged.raise_for_divergence()


def test_trace_mode_sees_it_too(script: Path) -> None:
    result = run(script, args=["diverge"], mode="trace")
    assert result.divergence is not None and result.divergence.kind == "op"


def test_exit_code_of_a_script(script: Path) -> None:
    result = run(script, args=["exit", "3"])
    assert result.divergence is None and result.exit_code == 3 and not result.ok


def raises() -> None:
    raise ValueError("no data")


def test_an_exception_on_all_ranks_is_a_failure_and_no_divergence() -> None:
    result = run(raises)
    assert result.divergence is None and result.exit_code == 1
    assert result.report().startswith("ranks 0-1 raised ValueError: no data\n")


def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_crash_is_never_success() -> None:
    result = run(dies)
    assert result.exit_code == 1 and "was killed by signal 9" in result.report()


def too_busy_to_answer() -> None:
    dist.all_reduce(torch.ones(1))
    if dist.get_rank() == 1:
        9 ** (9**9)  # no other thread of the process runs meanwhile
    dist.barrier()


def test_where_a_rank_was_seen_last_that_does_not_answer() -> None:
    found = run(too_busy_to_answer, ranks=2, timeout=1.5).divergence
    assert found is not None and found.kind == "timeout"
    line = too_busy_to_answer.__code__.co_firstlineno + 1
    assert f"rank 1 does not answer (last seen in all_reduce at {__file__}:{line})" in found.text


def test_what_cannot_be_run_is_said() -> None:
    with pytest.raises(HarnessError, match=r"nosuch\.py: there is no such file"):
        run("nosuch.py")
    with pytest.raises(HarnessError, match="unknown mode 'fast'"):
        run(total, mode="fast")
    with pytest.raises(HarnessError, match="3 hash seeds for 2 ranks"):
        run(total, hash_seeds=[1, 2, 3])


# ---- simulation ----------------------------------------------------------------------------------------------------


def stages() -> None:
    x = torch.ones(4)
    if dist.get_rank() in (0, dist.get_world_size() - 1):
        dist.broadcast(x, src=0)
    dist.all_reduce(x)


def test_simulation_compares_many_ranks() -> None:
    result = run(stages, ranks=16, mode="simulate")
    assert result.divergence is not None
    assert [one.ranks for one in result.divergence.behaviours] == [(0, 15), tuple(range(1, 15))]
    assert result.divergence.cause.endswith(f":{stages.__code__.co_firstlineno + 2}")


def agrees_first() -> None:
    flag = torch.tensor([dist.get_rank()])
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    names = [None] * dist.get_world_size()
    dist.all_gather_object(names, f"rank {dist.get_rank()}")
    if flag.item() or names[0] is None:
        dist.barrier()
    group = dist.new_group([0, 1])
    if dist.get_rank() < 2:
        dist.broadcast(flag, src=1, group=group)


def test_simulated_decisions_that_were_reduced_are_uniform() -> None:
    result = run(agrees_first, ranks=4, mode="simulate")
    assert result.ok, result.report() + "".join(result.outputs.values())


def sends_into_nowhere() -> None:
    if dist.get_rank() == 0:
        dist.isend(torch.ones(1), 1)


def test_simulation_reports_what_is_left_unpaired() -> None:
    result = run(sends_into_nowhere, ranks=2, mode="simulate")
    assert result.divergence is not None and result.divergence.kind == "unpaired"


# ---- nobody survives, nobody joins -----------------------------------------------------------------------------------

HANGING = """
import os, signal, sys, time
# a shell lets what it starts in the background ignore interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {root!r})
from ferrule_lint.harness import run

def body():
    print(os.getpid(), file=open(os.path.join({folder!r}, f"pid{{os.environ['RANK']}}"), "w"), flush=True)
    child = os.fork()
    if child == 0:
        print(os.getpid(), file=open(os.path.join({folder!r}, f"child{{os.environ['RANK']}}"), "w"), flush=True)
        time.sleep(600)
    while True:
        time.sleep(0.05)

run(body, ranks=2)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_no_rank_survives_its_parent(how: signal.Signals, tmp_path: Path) -> None:
    code = HANGING.format(root=str(ROOT), folder=str(tmp_path))
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    # what a rank has started is not to survive either
    files = [tmp_path / name for name in ("pid0", "pid1", "child0", "child1")]
    end = time.monotonic() + 60
    while time.monotonic() < end and not all(file.exists() and file.read_text().endswith("\n") for file in files):
        time.sleep(0.02)
    pids = [int(file.read_text()) for file in files]
    assert all(map(alive, pids))
    parent.send_signal(how)
    assert parent.wait(60) != 0
    end = time.monotonic() + 20
    while time.monotonic() < end and any(map(alive, pids)):
        time.sleep(0.02)
    assert not any(map(alive, pids))


@pytest.mark.parametrize("family", [socket.AF_UNIX, socket.AF_INET], ids=["unix", "tcp"])
def test_a_stranger_is_not_let_in(family: socket.AddressFamily, tmp_path: Path) -> None:
    from ferrule_lint.harness.launch import LocalProcesses
    from ferrule_lint.harness.server import Limits, Server
    from ferrule_lint.harness.supervisor import Supervisor
    from ferrule_lint.harness.wire import connect, frame, introduce, proof, read_exactly

    listener = socket.socket(family)
    listener.bind(str(tmp_path / "socket") if family == socket.AF_UNIX else ("127.0.0.1", 0))
    listener.listen()
    where = f"unix:{tmp_path}/socket" if family == socket.AF_UNIX else f"tcp:127.0.0.1:{listener.getsockname()[1]}"
    supervisor = Supervisor(2)
    server = Server(listener, "secret", supervisor, LocalProcesses({}), Limits(start=1.0))
    hello = {"t": "hello", "rank": 0, "role": "events", "thread": 1}
    end = {"t": "end", "status": "done", "code": 0, "flow": []}

    def stranger(answer: Callable[[bytes], str | None]) -> socket.socket:
        connection = connect(where)
        nonce = read_exactly(connection, 32)
        connection.sendall(frame({**hello, "proof": answer(nonce)}) + frame(end))
        return connection

    def speak() -> list[socket.socket]:
        wrong = [stranger(lambda nonce: proof("guess", nonce)), stranger(lambda nonce: None)]
        # an answer that was good for another connection
        wrong.append(stranger(lambda nonce: proof("secret", bytes(32))))
        rightful = connect(where)
        introduce(rightful, "secret", {**hello, "rank": 1})
        rightful.sendall(frame({**end, "code": 5, "status": "exit"}))
        return [*wrong, rightful]

    with ThreadPoolExecutor(1) as pool:
        connections = pool.submit(speak)
        server.serve()
        opened = connections.result()
    listener.close()
    # the strangers' "end" counted for nothing, and rank 0 never called in; who knew the token was heard
    assert supervisor.endings[0].error == "it never called in"
    assert (supervisor.endings[1].status, supervisor.endings[1].code) == ("exit", 5)
    for connection in opened:
        connection.close()
