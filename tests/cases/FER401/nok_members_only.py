"""Only members enter the call."""

import torch.distributed as dist


def writers(count: int) -> dist.ProcessGroup | None:
    ranks = list(range(count))
    group = None
    if dist.get_rank() < count:
        group = dist.new_group(ranks)  # error: FER401
    return group
