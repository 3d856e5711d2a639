"""A ring of blocking sends."""

import torch
import torch.distributed as dist


def shift(block: torch.Tensor) -> torch.Tensor:
    rank = dist.get_rank()
    size = dist.get_world_size()
    received = torch.empty_like(block)
    dist.send(block, (rank + 1) % size)  # error: FER303
    dist.recv(received, (rank - 1 + size) % size)
    return received
