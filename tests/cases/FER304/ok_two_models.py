"""Each of two models has a reduction of its own."""

import torch
import torch.distributed as dist
from torch import nn


def average(model: nn.Module) -> None:
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)


def step(generator: nn.Module, critic: nn.Module, optimizer: torch.optim.Optimizer, noise: torch.Tensor) -> None:
    generator(noise).sum().backward()
    average(generator)
    critic(noise).sum().backward()
    average(critic)
    optimizer.step()
