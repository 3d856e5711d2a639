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
        images = None
        if "pixel_values" in batch:
            images = self.tower(batch["pixel_values"])  # error: FER107
        return hidden if images is None else hidden + images


def build() -> nn.Module:
    return fully_shard(Model())
