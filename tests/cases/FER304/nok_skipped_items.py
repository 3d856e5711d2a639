"""Items without positives are skipped, and so may be all of them."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def wrap(module: nn.Module) -> nn.Module:
    return DistributedDataParallel(module)


class Head(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.masks = nn.Linear(width, 1)
        self.classes = nn.Linear(width, 2)

    def forward(self, features: torch.Tensor, gt_masks: torch.Tensor) -> torch.Tensor:
        predicted = self.masks(features)
        loss = 0.0  # error: FER304
        for one, truth in zip(predicted, gt_masks):
            if not truth.any():
                continue
            loss = loss + (one - truth).mean()
        return self.classes(features).mean() + loss
