"""Every rank has to create every group, members or not."""

import torch.distributed as dist


def build(ranks: list[int]) -> dist.ProcessGroup | None:
    if dist.get_rank() in ranks:
        return dist.new_group(ranks)  # error: FER401
    return None
