"""Which way lacks the output is not plain: several arms, a test of the output itself, a value of the caller's."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Detector(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.classes = nn.Linear(width, 1)
        self.boxes = nn.Linear(width, 1)

    def forward(self, features: torch.Tensor, found: torch.Tensor, spare: torch.Tensor) -> torch.Tensor:
        boxes = self.boxes(features)
        if found.sum() > 4:
            box_loss = boxes[found].mean()
        elif found.any():
            box_loss = boxes[found].sum()
        else:
            box_loss = spare
        return self.classes(features).mean() + box_loss


def build() -> nn.Module:
    return DistributedDataParallel(Detector(8))
