"""What is returned is of the round in which a rank leaves, so that the ranks have to agree in each."""

from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch import nn


def first_bad(model: nn.Module) -> int | None:
    for place, parameter in enumerate(model.parameters()):
        if not torch.isfinite(parameter.grad.sum()):
            return place
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    return None


def train(model: nn.Module, loader: torch.utils.data.DataLoader) -> None:
    for batch in loader:
        model(batch["x"]).sum().backward()
        first_bad(model)


def example() -> list[object]:
    good = SimpleNamespace(grad=torch.tensor([1.0, 2.0]))
    bad = SimpleNamespace(grad=torch.tensor([1.0, float("nan")]))
    return [first_bad(SimpleNamespace(parameters=lambda: [good, one])) for one in (good, bad)]
