"""Which of its modules the caller has wrapped is not told here."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def train(model: nn.Module, samples: list[torch.Tensor], optimizer: torch.optim.Optimizer) -> None:
    for sample in samples[dist.get_rank() :: dist.get_world_size()]:
        loss = model(sample).sum()
        loss.backward()
        optimizer.step()


def main(model: nn.Module, samples: list[torch.Tensor], optimizer: torch.optim.Optimizer) -> None:
    train(DDP(model), samples, optimizer)
