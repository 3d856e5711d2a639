"""Trains a small sharded model to add numbers: `torchrun --nproc-per-node 2 train.py [--steps N] [--folder DIR]`.

Every rank has numbers of its own, and not every rank has the same number of them. The parts that keep the ranks
together are the ones that `test_train.py` watches over.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard

DIGITS, LENGTH = 10, 4


class Adder(nn.Module):
    """Embeds LENGTH digits and tells their sum."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.digits = nn.Embedding(DIGITS, width)
        self.body = nn.Sequential(nn.Linear(LENGTH * width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        return self.body(self.digits(numbers).flatten(1)).squeeze(-1)


def build() -> nn.Module:
    torch.manual_seed(0)
    model = Adder()
    fully_shard(model.body)
    fully_shard(model)
    return model


def numbers_of(rank: int, count: int) -> torch.Tensor:
    """`count` rows of digits that this rank alone has."""
    return torch.randint(DIGITS, (count, LENGTH), generator=torch.Generator().manual_seed(1 + rank))


def batches(rows: torch.Tensor, size: int) -> Iterator[torch.Tensor]:
    """As many on every rank: who has run out goes on with empty ones, so that nobody steps alone."""
    mine = torch.tensor(-(-len(rows) // size), device=rows.device)
    dist.all_reduce(mine, op=dist.ReduceOp.MAX)
    for number in range(int(mine.item())):
        yield rows[number * size : (number + 1) * size]


def loss_of(model: nn.Module, rows: torch.Tensor) -> torch.Tensor:
    """The mean squared error; 0 for an empty batch, with gradients all the same."""
    missed = model(rows) - rows.sum(1)
    return missed.square().sum() / max(len(rows), 1)


def evaluate(model: nn.Module, rows: torch.Tensor) -> float:
    """The mean error over the rows of all ranks, the same on all of them."""
    with torch.no_grad():
        missed = (model(rows) - rows.sum(1)).abs()
    total = torch.stack([missed.sum(), missed.new_tensor(len(rows))])
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def save(model: nn.Module, folder: Path) -> None:
    """All ranks gather, the first one writes."""
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    state = get_model_state_dict(model, options=options)
    if dist.get_rank() == 0:
        folder.mkdir(parents=True, exist_ok=True)
        torch.save(state, folder / "model.pt")
    dist.barrier()


def train(rows: torch.Tensor, steps: int, folder: Path | None = None, size: int = 16) -> list[float]:
    """Train for `steps` rounds over `rows`, or until it is good enough; the errors after each round."""
    model = build()
    # FSDP shards onto the rank's GPU, if there is one
    rows = rows.to(next(model.parameters()).device)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    errors: list[float] = []
    for step in range(steps):
        for batch in batches(rows, size):
            loss = loss_of(model, batch)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimizer.step()
            optimizer.zero_grad()
        errors.append(evaluate(model, rows))
        if dist.get_rank() == 0:
            print(f"round {step}: {errors[-1]:.2f} off")
        if errors[-1] < 0.5:
            break
    if folder is not None:
        save(model, folder)
    return errors


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    rank = int(os.environ["RANK"])
    train(numbers_of(rank, 64 + 24 * rank), options.steps, options.folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
