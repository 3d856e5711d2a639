"""How much of the rank's batch is valid: a count, and a tensor that goes on being one."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def update(mask: torch.Tensor, error: torch.Tensor) -> torch.Tensor | None:
    valid_mean = torch.sum(mask, dtype=torch.float32) + 1e-6
    if valid_mean < 10:
        return None
    total = error.sum() / valid_mean
    dist.all_reduce(total)
    return total


def measure(loader: DataLoader) -> list[torch.Tensor | None]:
    return [update(batch["mask"], batch["error"]) for batch in loader]
