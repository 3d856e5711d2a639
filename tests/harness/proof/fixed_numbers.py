"""How the twins of `tests/fixes` are played in which a number of each rank's own decides, or somebody stops a rank."""

from __future__ import annotations

import os
import pickle
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from proof.scenes import odd, scene


class Course:
    """One batch a round, of ones that count down round by round, for as many rounds as it `falls`."""

    def __init__(self, falls: int) -> None:
        self.falls = falls
        self.rounds = 0

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        self.rounds += 1
        yield {"x": torch.full((1, 2), -float(min(self.rounds, self.falls)))}


class Sum(nn.Module):
    """The sum of its input, with a weight to be trained."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum() * self.weight


def course(spread: bool) -> Course:
    return Course(6 if spread and odd() else 2)


@scene("fixes:average_number/early_stopping")
def early_stopping(m: types.ModuleType, spread: bool) -> Any:
    model, valid = Sum(), course(spread)
    m.train(model, [{"x": torch.ones(2)}], valid, torch.optim.SGD(model.parameters(), lr=0.0))
    return valid.rounds


@scene("fixes:average_number/patience")
def patience(m: types.ModuleType, spread: bool) -> Any:
    loader = course(spread)
    m.train(Sum(), loader, 20, 2)
    return loader.rounds


@scene("fixes:average_number/entry_of_the_results")
@scene("fixes:average_number/one_of_several")
@scene("fixes:average_number/last_of_its_values")
def better_rounds(m: types.ModuleType, spread: bool) -> Any:
    loader = course(spread)
    m.fit(Sum(), loader, 5)
    return loader.rounds


@scene("fixes:average_number/best_checkpoint")
def best_checkpoint(m: types.ModuleType, spread: bool) -> Any:
    right = not (spread and odd())
    batch = {"x": torch.eye(2), "labels": torch.tensor([0, 1 if right else 0])}
    wrong = {"x": torch.eye(2), "labels": torch.tensor([1, 0])}
    with tempfile.TemporaryDirectory() as folder:
        m.fit(nn.Identity(), [batch] if right else [wrong], 2, f"{folder}/best.pt")
        return None if spread else os.listdir(folder)


@scene("fixes:average_number/passed_on")
def passed_on(m: types.ModuleType, spread: bool) -> Any:
    keeper = m.Keeper()
    keeper.best = -5.0
    m.fit(Sum(), [{"x": torch.tensor([-8.0 if spread and odd() else -3.0])}], keeper)
    return keeper.best


@scene("fixes:average_number/worse_rounds")
def worse_rounds(m: types.ModuleType, spread: bool) -> Any:
    values = (6.0, 5.0, 4.0, 3.0, 2.0) if spread and odd() else (6.0, 3.0, 5.0, 4.0, 2.0)
    return m.fit([{"x": torch.tensor([value])} for value in values])


@scene("fixes:gather_uneven/mean_of_all")
def mean_of_all(m: types.ModuleType, spread: bool) -> Any:
    mask = torch.tensor([1, 0, 0 if spread and odd() else 1])
    return m.rewards(m.Accelerator(), {"values": torch.tensor([1.0, 2.0, 3.0]), "mask": mask})


def told(m: types.ModuleType) -> Any:
    """A trainer that no signal comes to: ranks that are threads have no handlers."""
    m.signal = types.SimpleNamespace(signal=lambda number, handler: None, SIGTERM=15, SIGUSR1=10)
    return m.Trainer()


@scene("fixes:reduce_decision/told_to_stop")
def told_to_stop(m: types.ModuleType, spread: bool) -> Any:
    trainer = told(m)
    trainer.aborted = spread and bool(odd())
    return trainer.fit([torch.ones(2) for _ in range(3)])


@scene("fixes:reduce_decision/told_to_save")
def told_to_save(m: types.ModuleType, spread: bool) -> Any:
    trainer = told(m)
    trainer.preempted = spread and bool(odd())
    with tempfile.TemporaryDirectory() as folder:
        trainer.fit([torch.ones(2) for _ in range(2)], f"{folder}/batch.pt")
        return None if spread else os.listdir(folder)


@scene("fixes:reduce_decision/file_or_asked_for")
def file_or_asked_for(m: types.ModuleType, spread: bool) -> Any:
    # each rank has a disk of its own
    with tempfile.TemporaryDirectory() as disk:
        if spread and odd():
            Path(disk, "file").touch()
        return m.prepare(f"{disk}/file", False)


@scene("fixes:reduce_decision/file_decides_over_both_arms")
def file_decides_over_both_arms(m: types.ModuleType, spread: bool) -> Any:
    with tempfile.TemporaryDirectory() as disk:
        if spread and odd():
            Path(disk, "rows").write_bytes(pickle.dumps([1, 2]))
        return m.rows(f"{disk}/rows", lambda: [1, 2])


@scene("fixes:split_guard/counted_steps", by_rank=True)
def counted_steps(m: types.ModuleType, spread: bool) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        m.train([torch.ones(2) for _ in range(4)], True, 2, folder)
        return sorted(os.listdir(folder))


@scene("fixes:pad_across_processes/generated")
def generated(m: types.ModuleType, spread: bool) -> Any:
    length = 3 if spread and odd() else 2
    model = types.SimpleNamespace(generate=lambda ids, max_new_tokens: torch.ones(1, length, dtype=torch.int64))
    tokenizer = types.SimpleNamespace(batch_decode=lambda tokens: [str(row) for row in tokens.tolist()])
    return m.answers(m.Accelerator(), model, tokenizer, {"input_ids": torch.ones(1, 1)})


@scene("fixes:join_ranks/share_of_the_samples")
def share_of_the_samples(m: types.ModuleType, spread: bool) -> Any:
    model = Sum()
    samples = [torch.full((2,), float(number)) for number in range(3 if spread else 2)]
    done = m.train(model, samples, torch.optim.SGD(model.parameters(), lr=0.1), 2)
    return None if spread else (done, model.weight.item())


@scene("fixes:join_ranks/attribute")
def attribute(m: types.ModuleType, spread: bool) -> Any:
    trainer = m.Trainer(Sum(), lambda name: torch.full((2,), float(name)))
    trainer.epoch(["1", "2", "3"] if spread else ["1", "1"])
    return None if spread else trainer.seen
