"""A method that by its name hands out settings runs no forward."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Bags(nn.Module):
    def __init__(self, towers: list[nn.Module]) -> None:
        super().__init__()
        self.towers = nn.ModuleList(towers)

    def forward(self, mask: torch.Tensor) -> list[object]:
        found = []
        if mask.any():
            for tower in self.towers:
                found.append(tower.table_configs())
        return found


def build(towers: list[nn.Module]) -> nn.Module:
    return fully_shard(Bags(towers))
