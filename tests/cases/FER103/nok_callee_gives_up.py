"""A callee returns None for batches that are too short."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def loss_of(batch: dict[str, torch.Tensor]) -> torch.Tensor | None:
    anchors = batch["scores"][batch["mask"].bool()]
    if anchors.numel() == 0:
        return None
    return anchors.mean()


def evaluate(loader: DataLoader) -> None:
    for batch in loader:
        loss = loss_of(batch)
        if loss is None:
            continue
        dist.all_reduce(loss)  # error: FER103
