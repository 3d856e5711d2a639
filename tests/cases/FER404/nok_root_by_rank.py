"""Two roots for one broadcast."""

import torch
import torch.distributed as dist


def share(weight: torch.Tensor) -> None:
    source = 0 if dist.get_rank() < 4 else 4
    dist.broadcast(weight, src=source)  # error: FER404
