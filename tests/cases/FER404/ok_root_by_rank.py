"""Two roots, each in a group of its own."""

import torch
import torch.distributed as dist


def share(weight: torch.Tensor, half: dist.ProcessGroup) -> None:
    source = 0 if dist.get_rank() < 4 else 4
    dist.broadcast(weight, src=source, group=half)
