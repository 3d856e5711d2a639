"""Distinct ids, as a list of tensors."""

import torch
import torch.distributed as dist


def ids(batch: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    world = dist.get_world_size()
    distinct = torch.unique(batch["user_ids"])
    out: list[torch.Tensor] = [distinct] * world
    dist.all_gather_object(out, distinct)
    return out
