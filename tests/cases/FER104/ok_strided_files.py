"""Files dealt out in strides, a collective for each."""

import torch
import torch.distributed as dist


def count(paths: list[str]) -> torch.Tensor:
    rank, world = dist.get_rank(), dist.get_world_size()
    total = torch.zeros(1)
    for path in paths[rank::world]:
        with open(path) as file:
            total += sum(1 for _ in file)
    dist.all_reduce(total)
    return total
