"""The first rank's reduction pairs with the barrier of the others."""

import torch
import torch.distributed as dist


def cached(path: str) -> str:
    if dist.is_initialized():
        dist.all_reduce(torch.ones(1))
    return path


def build(paths: list[str]) -> None:
    if dist.get_rank() == 0:
        for path in paths:
            cached(path)  # error: FER102
    dist.barrier()
    if dist.get_rank() != 0:
        for path in paths:
            cached(path)  # error: FER102
