"""What is reported only with `min-confidence = "low"`: guesses, which the rule pages call so."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import describe, lint_source, reported_marks

SETTINGS = '[tool.ferrule-lint]\nmin-confidence = "low"\n'
CASES = {
    "collective in a finally": (
        """\
import torch
import torch.distributed as dist


def run(x: torch.Tensor) -> None:
    try:
        dist.all_reduce(x)
    finally:
        dist.barrier()
""",
        [(9, "FER105")],
    ),
    "teardown in a finally": (
        """\
import torch.distributed as dist


def run(train) -> None:
    try:
        train()
        print("done")
        dist.barrier()
    finally:
        dist.destroy_process_group()
""",
        [(10, "FER105")],
    ),
    "one rank alone looks, and raises": (
        """\
import os

import torch.distributed as dist


def prepare(path: str) -> None:
    if dist.get_rank() == 0:
        if os.path.exists(path):
            raise FileExistsError(path)
        os.makedirs(path)
    dist.barrier()
""",
        [(11, "FER105")],
    ),
    "everybody gets there": (
        """\
import torch.distributed as dist


def run(train) -> None:
    try:
        train()
    finally:
        dist.barrier()
""",
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_low(name: str, tmp_path: Path) -> None:
    source, expected = CASES[name]
    report = lint_source({"main.py": source, "pyproject.toml": SETTINGS}, tmp_path)
    found = sorted((line, code) for _, line, code in reported_marks(report).elements())
    assert found == expected, describe(report)
    assert all(finding.confidence.label == "low" for finding in report.findings)
    quiet = lint_source({"main.py": source, "pyproject.toml": "[tool.ferrule-lint]\n"}, tmp_path)
    assert not quiet.findings
