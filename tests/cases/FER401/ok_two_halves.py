"""Trainers and generators each make a group of their own."""

import torch.distributed as dist


def role_group() -> dist.ProcessGroup:
    first = dist.new_group([0])
    others = dist.new_group([1, 2, 3])
    if dist.get_rank() == 0:
        group = first
    else:
        group = others
    return group
