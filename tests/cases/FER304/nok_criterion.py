"""A loss that is a constant where the batch has no positive sample."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Criterion:
    def __call__(self, predicted: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        positive = target > 0
        if positive.sum() == 0:
            return torch.tensor(0.0, requires_grad=True)
        return (predicted[positive] - target[positive]).abs().mean()


def train(model: nn.Module, loader) -> None:
    model = DistributedDataParallel(model)
    criterion = Criterion()
    for batch in loader:
        loss = criterion(model(batch["image"]), batch["target"])
        loss.backward()  # error: FER304
