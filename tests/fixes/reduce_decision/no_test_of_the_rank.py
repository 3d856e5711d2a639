"""Some ranks are members, and which of them is right is not a matter of votes."""

import torch.distributed as dist


def prepare(ranks: list[int], clean) -> object:
    group = dist.new_group(ranks)
    if dist.get_rank() != 0:
        return None
    clean(ranks)
    dist.barrier()
    return group
