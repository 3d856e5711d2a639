"""First and last stage of one pipeline: called by every rank for each of the pipelines."""

import torch.distributed as dist


def ends(pipeline: list[int]) -> tuple[dist.ProcessGroup, dist.ProcessGroup]:
    ranks = sorted(pipeline)
    first = [ranks[0]]
    leader = dist.new_group(first)
    return leader, dist.new_group([ranks[0], ranks[-1]])
