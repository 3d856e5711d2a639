"""Both heads have one on every rank."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def box_loss(predicted: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    mask = target >= 0
    if mask.any():
        return (predicted[mask] - target[mask]).abs().mean()
    return predicted.sum() * 0


def train(model: nn.Module, loader) -> None:
    model = DistributedDataParallel(model)
    for batch in loader:
        classes, boxes = model(batch["image"])
        loss = classes.mean() + box_loss(boxes, batch["boxes"])
        loss.backward()
