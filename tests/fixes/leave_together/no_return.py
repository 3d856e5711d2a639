"""Whether the others have to reduce is not for a tool to say."""

import torch
import torch.distributed as dist


def write(values: torch.Tensor, names: list[str]) -> None:
    if dist.get_rank() == 0:
        print(len(names))
        if not names:
            return
    dist.all_reduce(values)
    print(values)
