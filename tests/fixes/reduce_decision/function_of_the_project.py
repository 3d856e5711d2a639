"""The project has a function for it: no helper is written."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def on_any_rank(wanted: bool, group=None) -> bool:
    """One answer for all ranks."""
    if not dist.is_initialized():
        return wanted
    vote = torch.tensor(int(wanted))
    dist.all_reduce(vote, op=dist.ReduceOp.MAX, group=group)
    return bool(vote.item())


def total(value: bool) -> bool:
    """No vote."""
    votes = torch.tensor(int(value))
    dist.all_reduce(votes, op=dist.ReduceOp.SUM)
    return bool(votes.item())


def train(loader: DataLoader) -> list[float]:
    losses = []
    for batch in loader:
        loss = batch["loss"]
        if not torch.isfinite(loss):
            continue
        dist.all_reduce(loss)
        losses.append(loss.item())
    return losses


def example() -> list[float]:
    return train([{"loss": torch.tensor(one)} for one in (1.0, float("nan"), 2.0)])
