"""Nothing is named, neither the peer nor the group."""

import torch
import torch.distributed as dist


def pass_on(block: torch.Tensor, cp_group: dist.ProcessGroup) -> None:
    place = dist.get_rank(cp_group)
    size = dist.get_world_size(cp_group)
    dist.isend(block, (place + 1) % size, cp_group)
