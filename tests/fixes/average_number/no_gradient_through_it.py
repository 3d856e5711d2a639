"""A loss that a gradient flows through: averaged, it would be a number."""

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader


def train(model: nn.Module, loader: DataLoader) -> None:
    for batch in loader:
        loss = model(batch["x"]).mean()
        if loss < 1e4:
            dist.barrier()
            print("all here")
        torch.autograd.backward([loss])
