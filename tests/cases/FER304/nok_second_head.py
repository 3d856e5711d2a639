"""One of two heads has no loss on some ranks."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def box_loss(predicted: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    mask = target >= 0
    if mask.any():
        return (predicted[mask] - target[mask]).abs().mean()
    return predicted.new_zeros(())


def train(model: nn.Module, loader) -> None:
    model = DistributedDataParallel(model)
    for batch in loader:
        classes, boxes = model(batch["image"])
        loss = classes.mean() + box_loss(boxes, batch["boxes"])
        loss.backward()  # error: FER304
