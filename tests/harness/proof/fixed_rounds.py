"""How the twins of `tests/fixes` are played that are about rounds, and the end of the data: `fixes:<form>/<name>`."""

from __future__ import annotations

import tempfile
import types
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from proof.scenes import odd, scene


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(4, 4)


def _samples() -> torch.Tensor:
    """Three for two ranks: the last one has fewer."""
    torch.manual_seed(1)
    return torch.randn(2 * dist.get_world_size() - 1, 4)


@scene("fixes:repeat_last_round/share_of_prompts", by_rank=True)
def share_of_prompts(m: types.ModuleType, spread: bool) -> Any:
    drawn = m.run(_model(), torch.cat([_samples(), _samples()])[: 2 * dist.get_world_size() + 1])
    return dist.get_world_size() == 1 and {start: round(value, 4) for start, value in drawn.items()}


@scene("fixes:repeat_last_round/strided_range", by_rank=True)
def strided_range(m: types.ModuleType, spread: bool) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        _saved_into(m, folder)
        m.run(_model(), _samples())
        return len(list(Path(folder).glob("*"))) == len(_samples()[dist.get_rank() :: dist.get_world_size()])


@scene("fixes:repeat_last_round/share_by_name", by_rank=True)
def share_by_name(m: types.ModuleType, spread: bool) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        _saved_into(m, folder)
        m.run(_model(), list(_samples()))
        return len(list(Path(folder).glob("*")))


def _saved_into(m: types.ModuleType, folder: str) -> None:
    m.torch = types.SimpleNamespace(**vars(torch))
    m.torch.save = lambda value, name: torch.save(value.detach(), f"{folder}/{name}")


@scene("fixes:end_together/training_loop")
def training_loop(m: types.ModuleType, spread: bool) -> Any:
    batches = [torch.ones(()) for _ in range(3 if spread and odd() else 5)]
    return m.Trainer(lambda batch: batch + 1, batches).train(100)


@scene("fixes:run_schedule/what_the_last_rank_shows", by_rank=True)
def what_the_last_rank_shows(m: types.ModuleType, spread: bool) -> Any:
    found = m.evaluate(None, iter([1.0]), None, show=print)
    return found if dist.get_rank() == dist.get_world_size() - 1 else None
