"""The test is in the caller, the tower in a method."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tower = nn.Linear(8, 8)
        self.text = nn.Linear(8, 8)

    def embed(self, pixel_values: torch.Tensor) -> torch.Tensor:
        return self.tower(pixel_values)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        hidden = self.text(batch["input_ids"])
        images = batch.get("pixel_values")
        if images is None:
            images = torch.zeros_like(hidden)
        return hidden + self.embed(images)


def build() -> nn.Module:
    return fully_shard(Model())
