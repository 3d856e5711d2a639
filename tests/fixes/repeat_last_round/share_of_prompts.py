"""Prompts that are dealt out, drawn with a sharded model."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def draw(model: torch.nn.Module, prompts: torch.Tensor, batch: int) -> dict[int, float]:
    drawn = {}
    mine = prompts[dist.get_rank() :: dist.get_world_size()]
    with torch.no_grad():
        for start in range(0, len(mine), batch):  # batch by batch
            # the last one may be smaller
            images = model(mine[start : start + batch])
            drawn[start] = images.sum().item()
    return drawn


def run(model: torch.nn.Module, prompts: torch.Tensor) -> dict[int, float]:
    fully_shard(model, reshard_after_forward=True)
    return draw(model, prompts, 2)
