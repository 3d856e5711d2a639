"""Which of two numbers the callee decides by is not told."""

import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader


class Keeper:
    def __init__(self) -> None:
        self.best = 1e9

    def update(self, loss: float, accuracy: float) -> None:
        if loss < self.best:
            self.best = accuracy
            dist.barrier()


def fit(model: nn.Module, loader: DataLoader, keeper: Keeper) -> None:
    losses = [model(batch["x"]).mean().item() for batch in loader]
    val_loss = sum(losses) / len(losses)
    val_accuracy = losses[0]
    keeper.update(val_loss, val_accuracy)
