"""A trainer that keeps its module in an attribute, and trains on the files of its rank."""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self, model: nn.Module, load: Callable[[str], torch.Tensor]) -> None:
        self.model = DistributedDataParallel(model)
        self.load = load
        self.seen = 0

    def epoch(self, files: list[str]) -> None:
        for i in range(dist.get_rank(), len(files), dist.get_world_size()):
            self.model(self.load(files[i])).sum().backward()
            self.seen += 1
