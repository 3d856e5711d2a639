"""What else the name stands for may be no test of the rank that all could make."""

import torch
import torch.distributed as dist


def report(value: torch.Tensor) -> None:
    due = dist.get_rank() == 0 and value.item() > 1.0
    if due:
        total = value * 1
        dist.all_reduce(total)
        print(total.item())
