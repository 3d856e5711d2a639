"""The row of a table that belongs to this rank."""

import torch.distributed as dist


def stage_group(table: list[list[int]]) -> dist.ProcessGroup:
    stage = dist.get_rank() // 8
    return dist.new_group(table[stage])  # error: FER401
