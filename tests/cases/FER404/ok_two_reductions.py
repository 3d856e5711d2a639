"""Both halves add up."""

import torch
import torch.distributed as dist


def count(seen: torch.Tensor) -> None:
    if dist.get_rank() == 0:
        seen += 1
        dist.all_reduce(seen)
    else:
        dist.all_reduce(seen, op=dist.ReduceOp.SUM)
