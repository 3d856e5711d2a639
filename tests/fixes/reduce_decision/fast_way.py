"""A short cut where there is nothing to fill in: taken if no rank has anything."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Filler(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, width)
        self.head = nn.Linear(width, 1000)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor, rounds: int) -> torch.Tensor:
        if not mask.any():
            return self.head(self.words(tokens))
        logits = self.head(self.words(tokens))
        for _ in range(rounds):
            tokens = torch.where(mask, logits.argmax(-1), tokens)
            logits = self.head(self.words(tokens))
        return logits


def build(width: int) -> Filler:
    model = Filler(width)
    fully_shard(model.words)
    fully_shard(model.head)
    fully_shard(model)
    return model
