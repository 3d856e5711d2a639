"""The row of a grid that this rank is in."""

import torch.distributed as dist


def row(width: int) -> dist.ProcessGroup:
    ranks = [i for i in range(width)]
    return dist.new_group(ranks)
