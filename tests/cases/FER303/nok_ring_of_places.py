"""Rings by the place in a group, whatever it is called, which the job's rank is looked up by."""

import torch
import torch.distributed as dist


def shift(block: torch.Tensor, cp_group: dist.ProcessGroup) -> torch.Tensor:
    place, size = dist.get_rank(cp_group), dist.get_world_size(cp_group)
    received = torch.empty_like(block)
    sending = dist.isend(block, dist.get_global_rank(cp_group, (place + 1) % size), cp_group)  # error: FER303
    receiving = dist.irecv(received, dist.get_global_rank(cp_group, (place - 1) % size), cp_group)
    sending.wait()
    receiving.wait()
    return received


def shift_by_name(block: torch.Tensor, cp_group: dist.ProcessGroup) -> torch.Tensor:
    place = dist.get_rank(cp_group)
    size = dist.get_world_size(cp_group)
    following = (place + 1) % size
    target = dist.get_global_rank(cp_group, following)
    received = torch.empty_like(block)
    dist.send(block, target, cp_group)  # error: FER303
    dist.recv(received, dist.get_global_rank(cp_group, (place - 1) % size), cp_group)
    return received
