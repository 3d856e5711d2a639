"""A destination that is compared with the rank in the job."""

import torch
import torch.distributed as dist


def collect(part: torch.Tensor, dst: int, group: dist.ProcessGroup | None = None) -> list[torch.Tensor] | None:
    parts = None
    if dist.get_rank() == dst:
        parts = [torch.empty_like(part) for _ in range(dist.get_world_size(group))]
    dist.gather(part, parts, dst=dst, group=group)
    return parts
