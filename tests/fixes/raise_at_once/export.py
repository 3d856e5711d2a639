"""A rank that cannot export waits for the others, which are in the sum, before it says so."""

import torch
import torch.distributed as dist


def export(states: list[torch.Tensor]) -> torch.Tensor:
    try:
        total = torch.cat(states).sum()
        dist.all_reduce(total)
    except Exception as error:
        print(f"no state: {error}")
        dist.barrier()
        raise
    return total


def example() -> float:
    return export([torch.tensor([1.0, 2.0]), torch.tensor([3.0])]).item()
