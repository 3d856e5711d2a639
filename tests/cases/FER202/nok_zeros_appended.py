"""Zeros appended by hand where a row is missing."""

import torch
import torch.distributed as dist


def reduce(batch: dict[str, torch.Tensor], rows: int) -> torch.Tensor:
    x = batch["inputs"]
    present = int(batch["mask"].sum().item())
    if present < rows:
        x = torch.cat([x, x.new_zeros(rows - present, 8)])
    dist.all_reduce(x)  # error: FER202
    return x
