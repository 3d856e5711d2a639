"""A data-parallel group, in code that knows of tensor parallelism too."""

import torch
import torch.distributed as dist


class Engine:
    def __init__(self, dp_group: dist.ProcessGroup, tp_size: int) -> None:
        self.dp_group = dp_group
        self.tp_size = tp_size

    def load(self, weights: torch.Tensor) -> None:
        if dist.get_world_size(self.dp_group) == dist.get_world_size():
            dist.broadcast(weights, 0, self.dp_group)
        else:
            dist.broadcast(weights, dist.get_global_rank(self.dp_group, 0), self.dp_group)
