"""Nothing is named, neither the peer nor the group."""

import torch
import torch.distributed as dist


def pass_on(block: torch.Tensor, cp_group: dist.ProcessGroup) -> None:
    place = dist.get_rank(cp_group)
    size = dist.get_world_size(cp_group)
    if place:
        dist.recv(block, place - 1, cp_group)
    if place + 1 < size:
        dist.send(block, place + 1, cp_group)
