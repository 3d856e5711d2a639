"""`get_global_rank` is not at hand here, and the group is named by place."""

import torch
from torch.distributed import ProcessGroup, get_rank, get_world_size, isend


def pass_on(block: torch.Tensor, cp_group: ProcessGroup) -> None:
    place = get_rank(cp_group)
    size = get_world_size(cp_group)
    isend(block, (place + 1) % size, cp_group)
