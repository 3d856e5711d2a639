"""Warm up for ten seconds, or for a number of steps."""

import time

import torch
import torch.distributed as dist


def warm_up(x: torch.Tensor) -> None:
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        dist.all_reduce(x)  # error: FER104
