"""A layer that stays in the graph for empty inputs."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def wrap(module: nn.Module) -> nn.Module:
    return DistributedDataParallel(module)


class Convolution(nn.Conv2d):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.numel() > 0:
            return super().forward(x)
        empty = x.new_empty(x.shape)
        return empty + sum(p.view(-1)[0] for p in self.parameters()) * 0.0
