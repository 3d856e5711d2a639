"""A rank without tokens would divide by zero if it had to go on."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def mean_loss(losses: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    count = mask.sum()
    if count == 0:
        return losses.sum() * 0.0
    total = (losses * mask).sum()
    dist.all_reduce(total)
    return total / count


def train(loader: DataLoader) -> list[torch.Tensor]:
    return [mean_loss(batch["losses"], batch["mask"]) for batch in loader]
