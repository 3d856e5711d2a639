"""The stand-in has gradients."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tower = nn.Linear(8, 8)
        self.text = nn.Linear(8, 8)

    def forward(self, input_ids: torch.Tensor, pixel_values: torch.Tensor | None = None) -> torch.Tensor:
        hidden = self.text(input_ids)
        if pixel_values is None:
            spare = self.tower(torch.zeros(1, 8))
            return hidden + 0 * spare.sum()
        return hidden + self.tower(pixel_values)


def build() -> nn.Module:
    return fully_shard(Model())
