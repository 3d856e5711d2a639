"""What is returned is of the round in which this rank leaves: the others are in no such round behind the loop."""

import torch
import torch.distributed as dist
from torch import nn


def first_bad(model: nn.Module) -> int | None:
    for place, parameter in enumerate(model.parameters()):
        if parameter.grad is not None and not torch.isfinite(parameter.grad).all():
            return place
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    return None


def train(model: nn.Module, loader: torch.utils.data.DataLoader) -> None:
    for batch in loader:
        model(batch["x"]).sum().backward()
        first_bad(model)
