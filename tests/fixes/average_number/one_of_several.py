"""A loss that comes with a score: it is averaged in a line of its own."""

import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader


def evaluate(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    losses = [model(batch["x"]).mean().item() for batch in loader]
    return sum(losses) / len(losses), max(losses)


def fit(model: nn.Module, loader: DataLoader, epochs: int) -> None:
    best = 1e9
    for _ in range(epochs):
        val_loss, worst = evaluate(model, loader)
        print(worst)
        if val_loss < best:
            best = val_loss
            dist.barrier()
            print("best so far")
