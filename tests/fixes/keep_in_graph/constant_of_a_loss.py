"""Losses that are a constant where no label counts: of logits, and of chunks of them."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Loss(nn.Module):
    def forward(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        counts = (labels != -100).sum()
        if counts == 0:
            return torch.tensor(0.0, device=logits.device)  # nothing to learn
        return (logits * (labels != -100)).sum() / counts


class ChunkedLoss(nn.Module):
    def forward(self, logits: list[torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
        total = 0.0
        for chunk in logits:
            total += chunk.sum()
        counts = (labels != -100).sum()
        if counts == 0:
            return torch.tensor(0.0)
        return total / counts


def build(model: nn.Module) -> nn.Module:
    return fully_shard(model)
