"""The members alone create the group."""

import torch.distributed as dist


def build(ranks: list[int]) -> dist.ProcessGroup | None:
    if dist.get_rank() in ranks:
        return dist.new_group(ranks, use_local_synchronization=True)
    return None
