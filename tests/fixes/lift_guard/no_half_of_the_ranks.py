"""Some ranks, not one."""

import torch
import torch.distributed as dist


def report(loss: torch.Tensor) -> None:
    if dist.get_rank() % 2 == 0:
        total = loss * 1
        dist.all_reduce(total)
        print(total)
