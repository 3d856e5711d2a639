"""A batch whose labels are all masked: its loss is zero, and so is what it adds to what is logged."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def mean_loss(losses: torch.Tensor, mask: torch.Tensor, log: list[float]) -> torch.Tensor:
    if mask.sum() == 0:
        return losses.sum() * 0.0
    loss = (losses * mask).sum() / mask.sum().clamp(min=1.0)
    shown = loss.detach().clone()
    dist.all_reduce(shown)
    log.append(shown.item())
    return loss


def train(loader: DataLoader) -> list[torch.Tensor]:
    log: list[float] = []
    return [mean_loss(batch["losses"], batch["mask"], log) for batch in loader]
