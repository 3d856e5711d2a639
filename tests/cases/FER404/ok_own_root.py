"""One rank collects, and every rank in its turn."""

import torch
import torch.distributed as dist


def collect(total: torch.Tensor) -> torch.Tensor:
    dist.reduce(total, dst=0)
    return total


def collect_each(totals: list[torch.Tensor]) -> torch.Tensor:
    for rank in range(dist.get_world_size()):
        dist.reduce(totals[rank], dst=rank)
    return totals[dist.get_rank()]
