"""Every rank collects for itself."""

import torch
import torch.distributed as dist


def collect(total: torch.Tensor) -> torch.Tensor:
    dist.reduce(total, dst=dist.get_rank())  # error: FER404
    return total
