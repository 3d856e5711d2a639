"""What a method of another class compares, and waits by, is passed by the caller."""

import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader


class Keeper:
    def __init__(self) -> None:
        self.best = 1e9

    def update(self, value: float, model: nn.Module) -> None:
        if value < self.best:
            self.best = value
            dist.barrier()


def fit(model: nn.Module, loader: DataLoader, keeper: Keeper) -> None:
    losses = [model(batch["x"]).mean().item() for batch in loader]
    val_loss = sum(losses) / len(losses)
    keeper.update(val_loss, model)
