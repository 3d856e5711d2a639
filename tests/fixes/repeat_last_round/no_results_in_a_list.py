"""A round more would be a result more."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def scores(model: torch.nn.Module, samples: torch.Tensor) -> list[torch.Tensor]:
    fully_shard(model, reshard_after_forward=True)
    found = []
    for i in range(dist.get_rank(), len(samples), dist.get_world_size()):
        found.append(model(samples[i]))
    return found
