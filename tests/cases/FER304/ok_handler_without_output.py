"""A handler that keeps the output."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def wrap(module: nn.Module) -> nn.Module:
    return DistributedDataParallel(module)


class Captioner(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.visual = nn.Linear(width, width)
        self.text = nn.Linear(width, width)

    def forward(self, input_ids: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
        hidden = self.text(input_ids)
        seen = self.visual(images)
        try:
            hidden[input_ids == 7] = seen
        except RuntimeError as error:
            print(error)
            seen = 0.0 * seen
        return hidden + seen
