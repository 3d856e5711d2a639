"""The list that this rank is in is kept, and a group made of it."""

import torch.distributed as dist


def expert_group(all_ranks: list[list[int]]) -> dist.ProcessGroup:
    mine = None
    for ranks in all_ranks:
        if dist.get_rank() in ranks:
            mine = ranks
    return dist.new_group(mine)  # error: FER401
