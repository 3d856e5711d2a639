"""All of the stand-in's outputs are part of the result."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Vision(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.merger = nn.Linear(8, 8)

    def forward(self, pixels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.body(pixels)
        return hidden, self.merger(hidden)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.vision = Vision()
        self.text = nn.Linear(8, 8)

    def forward(self, input_ids: torch.Tensor, pixel_values: torch.Tensor | None = None) -> torch.Tensor:
        hidden = self.text(input_ids)
        if pixel_values is not None:
            image, deep = self.vision(pixel_values)
            hidden = hidden + image
        else:
            image, spare = self.vision(torch.zeros(1, 8))
            hidden = hidden + 0.0 * image.sum() + 0.0 * spare.sum()
            deep = None
        return hidden if deep is None else hidden + deep


def build() -> nn.Module:
    return fully_shard(Model())
