"""With gradients, and no other forward of the module: who does not use the result has no backward."""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Prefix(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, width)

    def forward(self, parts: list[torch.Tensor], batch: dict[str, torch.Tensor], number: int) -> list[torch.Tensor]:
        for one in range(number):
            if one in parts and batch["mask"].any():
                parts.append(self.words(batch["input_ids"]))
        return parts


def build(width: int) -> Prefix:
    model = Prefix(width)
    fully_shard(model.words)
    fully_shard(model)
    return model
