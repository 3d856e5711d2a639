"""Some ranks are members, and which of them is right is not a matter of votes."""

import torch
import torch.distributed as dist


def prepare(ranks: list[int], total: torch.Tensor) -> object:
    group = dist.new_group(ranks)
    if dist.get_rank() % 2:
        return None
    dist.all_reduce(total)
    return group
