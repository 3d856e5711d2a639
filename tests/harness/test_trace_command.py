"""`ferrule-lint trace` as it is typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

TRAIN = """
import os, sys
import torch
import torch.distributed as dist


def main():
    dist.init_process_group("nccl")
    if "diverge" in sys.argv and dist.get_rank() == 0:
        dist.all_reduce(torch.ones(3))
    dist.barrier()
    # one write, so that the ranks' lines do not mix
    os.write(1, f"done {sys.argv[1:]}\\n".encode())


main()
sys.exit(5 if "--code" in sys.argv else 0)
"""


def trace(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ferrule_lint", "trace", *arguments]
    merged = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **environment}
    return subprocess.run(command, cwd=folder, env=merged, capture_output=True, text=True, timeout=300)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "job.py").write_text(TRAIN)
    return tmp_path


def test_without_torch_it_says_what_to_install(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text(
        "import importlib.util\nfound = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'torch' else found(name, *rest)\n"
    )
    done = trace(folder, "train.py", PYTHONPATH=f"{folder}:{ROOT}")
    assert done.returncode == 2
    assert done.stderr == "error: `ferrule-lint trace` needs torch: pip install 'ferrule-lint[harness]'\n"


def test_divergence(folder: Path) -> None:
    pytest.importorskip("torch")
    done = trace(folder, "--backend", "gloo", "--json", "result.json", "train.py", "diverge")
    assert done.returncode == 86
    assert "DIVERGENCE (op): rank 0 issues all_reduce, rank 1 barrier" in done.stderr
    assert "the ranks parted after train.py:9" in done.stderr
    assert "lint: FER102 collective-in-divergent-branch at train.py:10" in done.stderr
    result = json.loads((folder / "result.json").read_text())
    assert (result["version"], result["exit_code"], result["world"]) == ("1", 86, 2)
    assert result["divergence"]["cause"] == f"{folder / 'train.py'}:9"
    assert result["divergence"]["findings"][0]["code"] == "FER102"


def test_healthy_module_with_its_own_options(folder: Path) -> None:
    pytest.importorskip("torch")
    done = trace(folder, "-n", "3", "--backend", "gloo", "-m", "package.job", "--code", "-n", "7")
    assert done.returncode == 5
    assert done.stdout == "done ['--code', '-n', '7']\n" * 3
    assert "exit code 5" in done.stderr


def test_settings_that_get_in_the_way_are_reported(folder: Path) -> None:
    """NCCL's only where there is NCCL. By itself a program that asks for it gets gloo where it cannot be had."""
    pytest.importorskip("torch")
    from ferrule_lint.harness.backend import choose, hardware

    done = trace(folder, "--json", "-", "train.py", TORCH_DISTRIBUTED_DEBUG="DETAIL", TORCH_NCCL_BLOCKING_WAIT="1")
    assert done.returncode == 0, done.stderr
    backend = choose("auto", 2, hardware()).backend
    assert f"no divergence; 2 ranks, {backend}, lockstep" in done.stderr
    assert "\nnote: TORCH_DISTRIBUTED_DEBUG=DETAIL: torch compares by itself" in done.stderr
    assert ("TORCH_NCCL_BLOCKING_WAIT" in done.stderr) == (backend == "nccl")
    assert json.loads(done.stdout[done.stdout.index("{") :])["remarks"]


def test_a_traceback_is_the_programs_own_and_says_whose_it_is(folder: Path) -> None:
    pytest.importorskip("torch")
    (folder / "broken.py").write_text(
        "import torch.distributed as dist\n\n\ndef main():\n    dist.init_process_group('gloo')\n"
        "    if dist.get_rank() == 1:\n        raise ValueError('no data')\n    dist.barrier()\n\n\nmain()\n"
    )
    done = trace(folder, "broken.py", "--no-lint")
    assert done.returncode == 86
    lines = done.stderr.splitlines()
    assert lines[0] == "[rank1]: Traceback (most recent call last):"
    assert lines[1] == f'[rank1]:   File "{folder}/broken.py", line 11, in <module>'
    assert "[rank1]: ValueError: no data" in lines
    assert "runpy" not in done.stderr and "ferrule_lint/harness" not in done.stderr


def test_a_program_without_a_process_group_is_no_success(folder: Path) -> None:
    pytest.importorskip("torch")
    (folder / "plain.py").write_text("print('hello')\n")
    done = trace(folder, "plain.py")
    assert done.returncode == 0
    assert "nothing to compare: the program has not used torch.distributed; 2 ranks" in done.stderr
    assert "no divergence" not in done.stderr


def test_missing_script(folder: Path) -> None:
    pytest.importorskip("torch")
    done = trace(folder, "nosuch.py")
    assert (done.returncode, done.stderr) == (2, "error: nosuch.py: there is no such file\n")


@pytest.mark.skipif("not __import__('importlib.util').util.find_spec('torch')", reason="needs torch")
def test_nccl_without_gpus_is_refused_with_the_reason(folder: Path) -> None:
    import torch

    if torch.cuda.device_count():
        pytest.skip("there are GPUs")
    done = trace(folder, "--backend", "nccl", "train.py")
    assert done.returncode == 2
    assert done.stderr == ("error: NCCL cannot be used: there is no GPU, or torch was built without CUDA\n")
