"""Validation when enough time has passed, by each host's own clock."""

import time

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)


def train(held_out: torch.Tensor, steps: int) -> None:
    model = Net()
    fully_shard(model)
    last = time.monotonic()
    for step in range(steps):
        if time.monotonic() - last > 600.0:
            print(model(held_out).mean())  # error: FER101
            last = time.monotonic()
