"""A stand-in that runs, and whose output nobody uses; and a tower with several outputs."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Tower(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)

    def forward(self, images: torch.Tensor) -> list[torch.Tensor]:
        return [self.first(images), self.second(images)]


class Captioner(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.vision = Tower(width)
        self.audio = nn.Linear(width, width)
        self.text = nn.Linear(width, width)

    def forward(
        self, words: torch.Tensor, images: torch.Tensor, has_image: torch.Tensor, input_features: torch.Tensor | None
    ) -> torch.Tensor:
        hidden = self.text(words)
        if input_features is None:
            self.audio(torch.zeros_like(words))  # as many forwards as the others
        else:
            hidden = hidden + self.audio(input_features)
        levels = self.vision(images)
        if has_image.any():
            hidden = hidden + sum(levels)
        return hidden


def build() -> nn.Module:
    model = Captioner(8)
    fully_shard(model.vision)
    fully_shard(model.audio)
    return fully_shard(model)
