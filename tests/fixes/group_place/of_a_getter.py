"""The group is what a getter of the file returns for nothing: 0 is its first member, and no rank of the job."""

import torch
import torch.distributed as dist

GROUPS: dict[str, dist.ProcessGroup] = {}


def tp_group() -> dist.ProcessGroup:
    return GROUPS["tp"]


def share(x: torch.Tensor) -> torch.Tensor:
    dist.broadcast(x, src=0, group=tp_group())
    return x
