"""The caller may ask for no stand-in, which stays so."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Captioner(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.vision = nn.Linear(width, width)
        self.text = nn.Linear(width, width)

    def encode(self, pixel_values: torch.Tensor) -> torch.Tensor:
        return self.vision(pixel_values)

    def forward(
        self, input_ids: torch.Tensor, pixel_values: torch.Tensor | None = None, run_dummy: bool | None = None
    ) -> torch.Tensor:
        hidden = self.text(input_ids)
        if pixel_values is not None:
            hidden = hidden + self.encode(pixel_values)
        elif self.training and run_dummy is not False:
            # no image in the batch
            hidden = hidden + self.encode(torch.zeros_like(hidden)).sum() * 0.0
        return hidden


def build() -> nn.Module:
    return fully_shard(Captioner(64))
