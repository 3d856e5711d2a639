"""A batch of text returns the embeddings as they are."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tower = nn.Linear(8, 8)
        self.text = nn.Linear(8, 8)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        hidden = self.text(batch["input_ids"])
        images = batch["pixel_values"] if "pixel_values" in batch else torch.zeros_like(hidden)
        return hidden + self.tower(images)


def build() -> nn.Module:
    return fully_shard(Model())
