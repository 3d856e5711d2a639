"""Neighbours by the place in a group, one after the other."""

import torch
import torch.distributed as dist


def shift(block: torch.Tensor, cp_group: dist.ProcessGroup) -> torch.Tensor:
    place, size = dist.get_rank(cp_group), dist.get_world_size(cp_group)
    received = torch.empty_like(block)
    operations = [
        dist.P2POp(dist.isend, block, dist.get_global_rank(cp_group, (place + 1) % size), cp_group),
        dist.P2POp(dist.irecv, received, dist.get_global_rank(cp_group, (place - 1) % size), cp_group),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return received


def shift_by_name(block: torch.Tensor, cp_group: dist.ProcessGroup) -> torch.Tensor:
    place = dist.get_rank(cp_group)
    size = dist.get_world_size(cp_group)
    target = dist.get_global_rank(cp_group, (place + 1) % size)
    source = dist.get_global_rank(cp_group, (place - 1) % size)
    received = torch.empty_like(block)
    if place % 2 == 0:
        dist.send(block, target, cp_group)
        dist.recv(received, source, cp_group)
    else:
        dist.recv(received, source, cp_group)
        dist.send(block, target, cp_group)
    return received


def turns(blocks: list[torch.Tensor], count: int, size: int, device: torch.device) -> list[torch.Tensor]:
    """A slot in turn, which is nobody's neighbour."""
    received = torch.empty_like(blocks[0])
    slot = count // 2
    dist.send(blocks[0], (slot + 1) % size)
    dist.recv(received, (slot - 1) % size)
    return [received]
