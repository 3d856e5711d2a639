"""The row of a grid that this rank is in."""

import torch.distributed as dist


def row(width: int) -> dist.ProcessGroup:
    rank = dist.get_rank()
    ranks = [rank // width * width + i for i in range(width)]
    return dist.new_group(ranks)  # error: FER401
