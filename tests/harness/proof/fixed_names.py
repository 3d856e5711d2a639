"""Scenes of fixes where a name keeps the test, and of an early return of all but the first rank."""

from __future__ import annotations

import tempfile
import types
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from proof.scenes import full, odd, scene


@scene("fixes:lift_guard/rank_in_a_name", by_rank=True)
def rank_in_a_name(m: types.ModuleType, spread: bool) -> Any:
    shown: list[float] = []
    m.report(2.0, shown)
    return shown


@scene("fixes:delay_exit/reduced_for_the_first", by_rank=True)
def reduced_for_the_first(m: types.ModuleType, spread: bool) -> Any:
    shown: list[float] = []
    m.report([1.0, 2.0], shown)
    return shown


@scene("fixes:delay_exit/state_of_the_main_process", by_rank=True)
def state_of_the_main_process(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = fully_shard(nn.Linear(2, 2))
    with tempfile.TemporaryDirectory() as folder:
        m.save(model, f"{folder}/state")
        return full(torch.load(f"{folder}/state")["weight"]) if dist.get_rank() == 0 else None


@scene("fixes:reduce_decision/bad_loss_in_a_name")
def bad_loss_in_a_name(m: types.ModuleType, spread: bool) -> Any:
    middle = float("nan") if spread and odd() else 2.0
    return m.train([torch.tensor(1.0), torch.tensor(middle), torch.tensor(3.0)])


@scene("fixes:reduce_decision/not_one_label")
def not_one_label(m: types.ModuleType, spread: bool) -> Any:
    seen: list[float] = []
    m.count(torch.tensor([-100] * 3 if spread and odd() else [1, -100, 2]), seen)
    return seen
