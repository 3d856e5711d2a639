"""As many rounds as there are items in the first dimension, which may be none."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Head(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.step = nn.Linear(width, width)

    def roll(self, tokens: torch.Tensor) -> torch.Tensor:
        for _ in range(tokens.size(0)):
            tokens = self.step(tokens)
        return tokens

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.roll(input_ids[input_ids > 0])  # error: FER104


def build() -> nn.Module:
    return fully_shard(Head(4))
