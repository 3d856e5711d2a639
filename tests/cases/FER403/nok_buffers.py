"""As many buffers as there are tensor-parallel ranks."""

import torch
import torch.distributed as dist


def interleave(local: torch.Tensor, tp_size: int) -> torch.Tensor:
    parts = [torch.zeros_like(local) for _ in range(tp_size)]
    dist.all_gather(parts, local)  # error: FER403
    return torch.cat(parts, dim=-1)
