"""Counted in the group, gathered in it."""

import torch.distributed as dist


def gather_names(name: str, cp_group: dist.ProcessGroup) -> list[str]:
    size = dist.get_world_size(cp_group)
    names = [""] * size
    dist.all_gather_object(names, name, group=cp_group)
    return names
