"""Iterate until this rank is content."""

import torch
import torch.distributed as dist


def relax(batch: dict[str, torch.Tensor], tolerance: float) -> torch.Tensor:
    x = batch["inputs"]
    error = x.norm()
    dist.all_reduce(error, op=dist.ReduceOp.MAX)
    while error.item() > tolerance:
        halo = x.mean()
        dist.all_reduce(halo)
        x = 0.5 * (x - halo)
        error = x.norm()
        dist.all_reduce(error, op=dist.ReduceOp.MAX)
    return x
