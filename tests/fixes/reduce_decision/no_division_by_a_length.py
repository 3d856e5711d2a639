"""What is divided by says nothing of being a count that may as well be one."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Loss(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.head = nn.Linear(size, size)

    def forward(self, hidden: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        total = weights.sum()
        if total == 0:
            return hidden.sum() * 0.0
        loss = (self.head(hidden) * weights).sum()
        return loss / total


def train(batches: list[dict[str, torch.Tensor]]) -> list[torch.Tensor]:
    model = Loss(2)
    fully_shard(model.head)
    return [model(batch["hidden"], batch["attention_mask"]) for batch in batches]
