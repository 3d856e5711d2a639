"""Ranks of torchrun's, also of two agents that know each other by the rendezvous only, as on two hosts."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]

JOB = """
import os, sys, torch, torch.distributed as dist

dist.init_process_group("gloo")
dist.all_reduce(torch.ones(2))
if "diverge" in sys.argv and dist.get_rank() == 0:
    dist.all_reduce(torch.ones(3))
dist.barrier()
# one write, so that the ranks' lines do not mix
os.write(1, f"done {dist.get_rank()}\\n".encode())
"""


def agent(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "torch.distributed.run", *arguments]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.py").write_text(JOB)
    return tmp_path


def test_healthy_job(folder: Path) -> None:
    arguments = ["--nproc-per-node", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]
    run = agent(folder, *arguments, "-m", "ferrule_lint", "trace", "job.py")
    out, err = run.communicate(timeout=120)
    assert run.returncode == 0, err
    assert sorted(out.splitlines()) == ["done 0", "done 1"]
    assert "ferrule-lint: no divergence; 2 ranks, torchrun, lockstep" in err


def test_two_agents_that_diverge(folder: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    common = ["--nnodes", "2", "--nproc-per-node", "1", "--master-addr", "127.0.0.1", "--master-port", port]
    program = ["-m", "ferrule_lint", "trace", "job.py", "diverge"]
    agents = [agent(folder, *common, "--node-rank", str(number), *program) for number in (0, 1)]
    errors = [one.communicate(timeout=120)[1] for one in agents]
    assert "DIVERGENCE (op): rank 0 issues all_reduce, rank 1 barrier" in errors[0]
    assert "lint: FER102" in errors[0]
    # both ranks were ended with the exit code for a divergence
    assert "exitcode  : 86" in errors[0] + errors[1]
    assert all(one.returncode == 1 for one in agents)
