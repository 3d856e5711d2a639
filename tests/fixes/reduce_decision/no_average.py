"""A rank whose labels are all masked would go on to divide what the others have by one: no average."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def mean_loss(losses: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    if mask.sum() == 0:
        return losses.sum() * 0.0
    total = (losses * mask).sum()
    dist.all_reduce(total)
    return total / mask.sum().clamp(min=1.0)


def train(loader: DataLoader) -> list[torch.Tensor]:
    return [mean_loss(batch["losses"], batch["mask"]) for batch in loader]
