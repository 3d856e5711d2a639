"""`pytest` runs the training on ranks, and fails with a report where they would hang or mix up their data."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from train import numbers_of, train

from ferrule_lint.harness import run


@pytest.mark.ferrule(ranks=2)
@pytest.mark.parametrize("extra", [0, 40], ids=["even", "uneven"])
def test_training_keeps_the_ranks_together(extra: int, tmp_path: Path) -> None:
    rank = dist.get_rank()
    errors = train(numbers_of(rank, 48 + extra * rank), 3, tmp_path / "saved")
    assert errors[-1] < errors[0]
    everybody: list[list[float] | None] = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, errors)
    assert everybody[0] == everybody[1]


@pytest.mark.ferrule(ranks=3)
def test_a_rank_without_data() -> None:
    rows = numbers_of(dist.get_rank(), 0 if dist.get_rank() == 2 else 32)
    assert len(train(rows, 2)) == 2


def test_the_script_as_it_is_started(tmp_path: Path) -> None:
    script = Path(__file__).with_name("train.py")
    result = run(script, ranks=2, args=["--steps", "2", "--folder", str(tmp_path)], timeout=120)
    result.raise_for_divergence()
    assert "round 1:" in result.outputs[0] and "round" not in result.outputs[1]
    assert torch.load(tmp_path / "model.pt")["body.2.bias"].shape == (1,)
