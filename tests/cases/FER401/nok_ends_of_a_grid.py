"""The ends of this rank's own pipeline, as a grid lists it."""

import torch.distributed as dist


def ends(grid) -> dist.ProcessGroup:
    first = grid.pp_group[0]
    last = grid.pp_group[-1]
    return dist.new_group(ranks=[first, last])  # error: FER401
