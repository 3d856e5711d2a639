"""Zeros appended by hand where a row is missing."""

import torch
import torch.distributed as dist


def reduce(batch: dict[str, torch.Tensor], rows: int) -> torch.Tensor:
    x = batch["inputs"]
    present = int(batch["mask"].sum().item())
    if present < rows:
        x = x * batch["mask"].unsqueeze(-1)
    dist.all_reduce(x)
    return x
