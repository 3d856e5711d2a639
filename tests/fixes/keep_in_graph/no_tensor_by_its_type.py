"""What the loss is given does not say that it is a tensor."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Loss(nn.Module):
    def forward(self, logits, labels: torch.Tensor) -> torch.Tensor:
        counts = (labels != -100).sum()
        if counts == 0:
            return torch.tensor(0.0, device=labels.device)
        return (logits * (labels != -100)).sum() / counts


def build(model: nn.Module) -> nn.Module:
    return fully_shard(model)
