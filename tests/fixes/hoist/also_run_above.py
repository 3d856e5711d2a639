"""With gradients: the same module runs above in any case, so that its backward is there on every rank."""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Prefix(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, width)

    def forward(
        self, input_ids: torch.Tensor, response: torch.Tensor | None, response_mask: torch.Tensor | None
    ) -> list[torch.Tensor]:
        parts = [self.words(input_ids)]
        response_emb = None
        if response is not None and response_mask is not None and response_mask.any():
            response_emb = self.words(response)
            parts.append(response_emb)
        return parts if response_emb is None else [response_emb, *parts]


def build(width: int) -> Prefix:
    model = Prefix(width)
    fully_shard(model.words)
    fully_shard(model)
    return model
