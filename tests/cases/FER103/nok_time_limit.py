"""A time limit read from each host's clock."""

import time

import torch
import torch.distributed as dist


def train(steps: int, limit: float, x: torch.Tensor) -> None:
    started = time.monotonic()
    for _ in range(steps):
        late = time.monotonic() - started > limit
        if late:
            break
        dist.all_reduce(x)  # error: FER103
