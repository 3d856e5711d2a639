"""The mean of nothing is no number, and neither is the sum of all ranks' then."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def mean_loss(losses: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    if not mask.any():
        return torch.zeros(())
    total = losses[mask].mean()
    dist.all_reduce(total)
    return total


def train(loader: DataLoader) -> list[torch.Tensor]:
    return [mean_loss(batch["losses"], batch["mask"]) for batch in loader]
