"""What is added up would be added twice."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def total(model: torch.nn.Module, samples: torch.Tensor) -> torch.Tensor:
    fully_shard(model, reshard_after_forward=True)
    found = torch.zeros(())
    for i in range(dist.get_rank(), len(samples), dist.get_world_size()):
        found = found + model(samples[i]).sum()
    return found
