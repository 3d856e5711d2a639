"""What is above the collective changes what it sees."""

import torch
import torch.distributed as dist


def report(values: torch.Tensor) -> None:
    if dist.get_rank() == 0:
        values.mul_(2.0)
        dist.all_reduce(values)
        print(values)
