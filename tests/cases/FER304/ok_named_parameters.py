"""Parameters by their names are no outputs: an item of them has no name of its own."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(model: nn.Module, batch: dict[str, torch.Tensor], names: list[str]) -> None:
    model = DistributedDataParallel(model)
    hidden, boxes = model(batch["image"])
    loss = hidden.mean() + boxes.mean()
    parameters = dict(model.named_parameters())
    if batch["boxes"].sum() > 4:
        print([parameters[name].grad for name in names])
    loss.backward()


def gradients(stages: list[nn.Module], names: list[str]) -> None:
    parameters = dict(stages[0].named_parameters())
    for name in names:
        print(parameters[name].grad)
