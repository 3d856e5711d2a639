"""The sum of nothing is zero: a rank whose mask selects nothing adds that."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import fully_shard


class Model(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Linear(width, width)
        self.aux = nn.Sequential(nn.Linear(width, 4))

    def forward(self, hidden: torch.Tensor, labels: torch.Tensor, aux_mask: torch.Tensor) -> torch.Tensor:
        states = self.body(hidden)
        loss = states.pow(2).mean()
        if aux_mask.any():
            loss = loss + F.cross_entropy(self.aux(states[aux_mask]), labels[aux_mask], reduction="sum")
        return loss


def build(width: int) -> Model:
    model = Model(width)
    fully_shard(model.aux)
    fully_shard(model)
    return model
