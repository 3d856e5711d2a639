"""Gradients that overflow are looked for in a loop: the ranks agree once, and not for each parameter."""

from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch import nn


def step(model: nn.Module, taken: list[float]) -> bool:
    # nothing is stepped with what is no number
    for parameter in model.parameters():
        if parameter.grad is not None and not torch.isfinite(parameter.grad.sum()):
            print("overflow on this rank")
            # forget them
            taken.clear()
            return False  # for the scaler
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        taken.append(parameter.grad.sum().item())
    return True


def train(model: nn.Module, loader: torch.utils.data.DataLoader) -> None:
    for batch in loader:
        model(batch["x"]).sum().backward()
        step(model, [])


def example() -> list[object]:
    good = SimpleNamespace(grad=torch.tensor([1.0, 2.0]))
    bad = SimpleNamespace(grad=torch.tensor([1.0, float("nan")]))
    first, second = [0.0], [0.0]
    found = [step(SimpleNamespace(parameters=lambda: [good, one]), seen) for one, seen in ((good, first), (bad, second))]
    return [found, first, second]
