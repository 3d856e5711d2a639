"""Iterate until this rank is content."""

import torch
import torch.distributed as dist


def relax(batch: dict[str, torch.Tensor], tolerance: float) -> torch.Tensor:
    x = batch["inputs"]
    error = x.norm()
    while error.item() > tolerance:
        halo = x.mean()
        dist.all_reduce(halo)  # error: FER104
        x = 0.5 * (x - halo)
        error = x.norm()
    return x
