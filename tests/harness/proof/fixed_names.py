"""Scenes of fixes where a name keeps the test, and of an early return of all but the first rank."""

from __future__ import annotations

import types
from typing import Any

import torch

from proof.scenes import odd, scene


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


@scene("fixes:reduce_decision/not_one_label")
def not_one_label(m: types.ModuleType, spread: bool) -> Any:
    seen: list[float] = []
    m.count(torch.tensor([-100] * 3 if spread and odd() else [1, -100, 2]), seen)
    return seen
