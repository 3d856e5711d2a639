"""One of two outputs, under a test of the batch."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(model: nn.Module, batch: dict[str, torch.Tensor], names: list[str]) -> None:
    model = DistributedDataParallel(model)
    hidden, boxes = model(batch["image"])
    loss = hidden.mean()
    parameters = dict(model.named_parameters())
    if batch["boxes"].sum() > 4:
        loss = loss + boxes.mean()
        print([parameters[name].grad for name in names])
    loss.backward()  # error: FER304


def gradients(stages: list[nn.Module], names: list[str]) -> None:
    parameters = dict(stages[0].named_parameters())
    for name in names:
        print(parameters[name].grad)
