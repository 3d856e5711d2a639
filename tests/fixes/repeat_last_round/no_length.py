"""What is walked says nothing of how long it is."""

import itertools

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


@torch.no_grad()
def extract(model: torch.nn.Module, samples: torch.Tensor) -> None:
    for i in itertools.islice(range(len(samples)), dist.get_rank(), None, dist.get_world_size()):
        torch.save(model(samples[i]), f"{i}.pt")


def run(model: torch.nn.Module, samples: torch.Tensor) -> None:
    fully_shard(model, reshard_after_forward=True)
    extract(model, samples)
