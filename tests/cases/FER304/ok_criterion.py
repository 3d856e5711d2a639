"""The same, with a zero that keeps the model in the loss."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Criterion:
    def __call__(self, predicted: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        positive = target > 0
        if positive.sum() == 0:
            return predicted.sum() * 0.0
        return (predicted[positive] - target[positive]).abs().mean()


def train(model: nn.Module, loader) -> None:
    model = DistributedDataParallel(model)
    criterion = Criterion()
    for batch in loader:
        loss = criterion(model(batch["image"]), batch["target"])
        loss.backward()
