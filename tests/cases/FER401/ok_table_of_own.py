"""The row of a table that belongs to this rank."""

import torch.distributed as dist


def stage_group(table: list[list[int]]) -> dist.ProcessGroup:
    groups = [dist.new_group(ranks) for ranks in table]
    return groups[dist.get_rank() // 8]
