"""Twins of `tests/fixes` about loops that issue nothing themselves, clocks, and what is made of a mask's choice."""

from __future__ import annotations

import time
import types
from typing import Any

import torch

from proof.scenes import full, odd, scene


def _overflowing(spread: bool) -> types.SimpleNamespace:
    """What has two parameters; the second one's gradient is no number on the last rank."""
    bad = float("nan") if spread and odd() else 1.0
    both = [types.SimpleNamespace(grad=torch.tensor([1.0, last])) for last in (2.0, bad)]
    return types.SimpleNamespace(parameters=lambda: both)


@scene("fixes:agree_after_loop/parameters")
def parameters(m: types.ModuleType, spread: bool) -> Any:
    taken = [0.0]
    return m.step(_overflowing(spread), taken), taken


@scene("fixes:agree_after_loop/waiting")
def waiting(m: types.ModuleType, spread: bool) -> Any:
    return m.wait_for("nowhere" if spread and odd() else ".", time.monotonic() - 1.0)


@scene("fixes:reduce_decision/in_each_round")
def in_each_round(m: types.ModuleType, spread: bool) -> Any:
    return m.first_bad(_overflowing(spread))


@scene("fixes:uniform_predicate/clock_of_a_job")
def clock_of_a_job(m: types.ModuleType, spread: bool) -> Any:
    return m.train(2, time.time() - (100.0 if spread and odd() else 0.0), 60.0)


@scene("fixes:uniform_predicate/clock_and_setting")
def clock_and_setting(m: types.ModuleType, spread: bool) -> Any:
    late = 100.0 if spread and odd() else 0.0
    return m.train(2, time.time() - late, 60.0, types.SimpleNamespace(synchronise=True))


@scene("fixes:gather_uneven/number_of_each")
def number_of_each(m: types.ModuleType, spread: bool) -> Any:
    mask = torch.tensor([True, False, not (spread and odd())])
    return full(m.sums({"scores": torch.tensor([1.0, 2.0, 6.0]), "mask": mask}))


@scene("fixes:uniform_predicate/sum_of_losses")
def sum_of_losses(m: types.ModuleType, spread: bool) -> Any:
    torch.manual_seed(0)
    model = m.build(8)
    mask = torch.tensor([not (spread and odd())] * 4)
    loss = model(torch.ones(4, 8), torch.zeros(4, dtype=torch.int64), mask)
    loss.backward()
    return full(loss)
