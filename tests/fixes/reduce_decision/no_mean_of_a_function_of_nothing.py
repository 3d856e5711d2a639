"""A function of nothing is nothing, and its mean is no number."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def loss(margins: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    kept = margins[mask]
    if kept.numel() == 0:
        return margins.sum() * 0
    result = -F.logsigmoid(kept - 1.0).mean()
    dist.all_reduce(kept.sum())
    return result


def train(loader: torch.utils.data.DataLoader) -> list[torch.Tensor]:
    return [loss(batch["margins"], batch["mask"]) for batch in loader]
