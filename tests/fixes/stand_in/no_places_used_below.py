"""The places are asked for above as well, and have to be there: a rank without an image has none."""

from __future__ import annotations

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Parts(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, width)
        self.tower = nn.Sequential(nn.Linear(width, width), nn.GELU())
        self.connector = nn.Linear(width, width)


class Packed(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.parts = Parts(width)

    def forward(
        self,
        tokens: torch.Tensor,
        pixel_values: torch.Tensor | None = None,
        places: torch.Tensor | None = None,
    ) -> torch.Tensor:
        parts = self.parts
        packed = parts.words(tokens if places is None else tokens + 0 * places.sum())
        if pixel_values is not None:
            if places is None:
                raise ValueError("where do they go?")
            features = parts.tower(pixel_values)
            features = parts.connector(features)
            if features.dtype != packed.dtype:
                features = features.to(packed.dtype)
            # a copy of what the words were
            packed = packed.clone()
            packed[places] = features
        return packed if places is None else packed[places]


def build(width: int) -> Packed:
    model = Packed(width)
    fully_shard(model.parts.tower)
    fully_shard(model)
    return model
