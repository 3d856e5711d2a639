"""A parameter that something is done with."""

import torch
import torch.distributed as dist


class Counter:
    def __init__(self) -> None:
        self.total = torch.zeros(1)

    def reduce(self, group: dist.ProcessGroup | None = None) -> torch.Tensor:
        dist.all_reduce(self.total, group=group)
        return self.total
