"""A share that is walked by its name."""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def draw(model: torch.nn.Module, prompts: list[torch.Tensor]) -> None:
    mine = prompts[dist.get_rank() :: dist.get_world_size()]
    for prompt in mine:
        torch.save(model(prompt), f"{dist.get_rank()}.pt")


def run(model: torch.nn.Module, prompts: list[torch.Tensor]) -> None:
    fully_shard(model, reshard_after_forward=True)
    draw(model, prompts)
