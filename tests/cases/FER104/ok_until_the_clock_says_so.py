"""Warm up for ten seconds, or for a number of steps."""

import time

import torch
import torch.distributed as dist


def warm_up(x: torch.Tensor) -> None:
    step = 0
    while step < 100:
        dist.all_reduce(x)
        step += 1
