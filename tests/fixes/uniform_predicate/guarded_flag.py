"""A flag that asks for a value where there is one, and decides about a forward."""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Prefix(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, width)

    def forward(
        self, input_ids: torch.Tensor, notes: torch.Tensor | None, notes_mask: torch.Tensor | None
    ) -> list[torch.Tensor]:
        parts = [self.words(input_ids)]
        # the prefix has one length for all of the batch
        has_notes = (
            notes is not None and notes_mask is not None and bool(notes_mask.any())  # padded ones are none
        )
        if has_notes:
            parts.append(self.words(notes))
            parts.append(self.words(input_ids[:, :1]))
        return parts


def build(width: int) -> Prefix:
    model = Prefix(width)
    fully_shard(model.words)
    fully_shard(model)
    return model
