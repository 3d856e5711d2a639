"""A loss that counts nothing where no label does, beside the logits: it still depends on them."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


@dataclass
class HeadOutput:
    loss: torch.Tensor
    logits: torch.Tensor


class Head(nn.Module):
    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.classify = nn.Linear(width, classes)

    def forward(self, hidden: torch.Tensor, labels: torch.Tensor) -> HeadOutput:
        logits = self.classify(hidden)
        loss = nn.functional.cross_entropy(logits, labels)
        if (labels == -100).all():
            loss = logits.sum() * 0.0
        return HeadOutput(loss=loss, logits=logits)


def build(width: int, classes: int) -> nn.Module:
    return fully_shard(Head(width, classes))
