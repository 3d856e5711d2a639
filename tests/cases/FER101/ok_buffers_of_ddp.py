"""The first rank alone evaluates with the module that DDP wraps, and not through DDP."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def evaluate(x: torch.Tensor) -> None:
    model = DistributedDataParallel(Net(8))
    model.eval()
    if dist.get_rank() == 0:
        with torch.no_grad():
            print(model.module(x).mean())
    dist.barrier()
