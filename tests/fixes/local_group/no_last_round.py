"""All ranks keep the group of the last round: that only its members create it does not help."""

import torch.distributed as dist


def groups(world_size, size):
    for first in range(0, world_size, size):
        group = dist.new_group(range(first, first + size))
    return group
