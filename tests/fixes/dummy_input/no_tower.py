"""A tower that takes what it is merged into: on zeros it would change it. And a second branch that does more than add."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Tower(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)

    def forward(self, hidden: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
        return hidden + self.first(images)


class Captioner(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.vision = Tower(width)
        self.audio = nn.Linear(width, width)
        self.text = nn.Embedding(100, width)

    def forward(
        self, input_ids: torch.Tensor, pixel_values: torch.Tensor | None, input_features: torch.Tensor | None
    ) -> torch.Tensor:
        hidden = self.text(input_ids)
        if pixel_values is not None:
            hidden = self.vision(hidden, pixel_values)
        if input_features is not None:
            hidden = torch.cat([hidden, self.audio(input_features)])
            input_features = None
        return hidden if input_features is None else hidden + input_features.mean()


def build() -> nn.Module:
    return fully_shard(Captioner(64))
