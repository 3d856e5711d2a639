"""Trainers and generators each make a group of their own."""

import torch.distributed as dist


def role_group() -> dist.ProcessGroup:
    if dist.get_rank() == 0:
        group = dist.new_group([0])  # error: FER401
    else:
        group = dist.new_group([1, 2, 3])
    return group
