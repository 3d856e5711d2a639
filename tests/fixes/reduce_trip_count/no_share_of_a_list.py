"""A list that is dealt out: what the extra rounds would work on is not there."""

import torch
import torch.distributed as dist


def count_lines(paths: list[str]) -> int:
    total = 0
    for path in paths[dist.get_rank() :: dist.get_world_size()]:
        with open(path) as file:
            lines = torch.tensor([sum(1 for _ in file)])
        dist.all_reduce(lines)
        total += int(lines)
    return total
