"""First and last stage of each pipeline: every rank has to create the groups of all pipelines."""

import torch.distributed as dist


def ends(pp_group: dist.ProcessGroup) -> tuple[dist.ProcessGroup, dist.ProcessGroup]:
    ranks = sorted(dist.get_process_group_ranks(pp_group))
    first = [ranks[0]]
    leader = dist.new_group(first)  # error: FER401
    return leader, dist.new_group([ranks[0], ranks[-1]])  # error: FER401
