"""A head that runs only where the batch has something for it."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.masks = nn.Linear(8, 8)

    def forward(self, images: torch.Tensor, targets: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
        hidden = self.body(images)
        losses = {"body": hidden.mean()}
        positive = torch.cat([t["positive"] for t in targets])
        if positive.numel() > 0:
            losses["masks"] = self.masks(hidden).mean()  # error: FER304
        return losses


def build() -> nn.Module:
    return DistributedDataParallel(Model())
