"""What stands between costs something: other ranks do not do it for nothing."""

import torch.distributed as dist


def prepare(ranks: list[int], clean) -> object:
    if dist.get_rank() not in ranks:
        return None
    clean(ranks)
    return dist.new_group(ranks)
