"""The ranks are worked out in the arm: the others do not know them."""

import torch.distributed as dist


def inner_group(size: int) -> dist.ProcessGroup | None:
    group = None
    if dist.get_rank() < size:
        ranks = list(range(size))
        group = dist.new_group(ranks)
    return group
