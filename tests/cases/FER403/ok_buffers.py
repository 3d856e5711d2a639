"""As many buffers as there are ranks."""

import torch
import torch.distributed as dist


def interleave(local: torch.Tensor, world_size: int) -> torch.Tensor:
    parts = [torch.zeros_like(local) for _ in range(world_size)]
    dist.all_gather(parts, local)
    return torch.cat(parts, dim=-1)
