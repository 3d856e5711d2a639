"""A mean over the tokens that count, whose head is gathered in the way that not every rank takes."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Loss(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.head = nn.Linear(size, size)

    def forward(self, hidden: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        counts = labels != -100
        number = counts.sum()
        if number == 0:
            return hidden.sum() * 0.0
        loss = self.head(hidden[counts]).sum()
        return loss / number


def train(batches: list[dict[str, torch.Tensor]]) -> list[torch.Tensor]:
    model = Loss(2)
    fully_shard(model.head)
    return [model(batch["hidden"], batch["labels"]) for batch in batches]
