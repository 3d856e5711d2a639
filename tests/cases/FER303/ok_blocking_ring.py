"""A ring whose sends and receives are one batch."""

import torch
import torch.distributed as dist


def shift(block: torch.Tensor) -> torch.Tensor:
    rank = dist.get_rank()
    size = dist.get_world_size()
    received = torch.empty_like(block)
    operations = [
        dist.P2POp(dist.isend, block, (rank + 1) % size),
        dist.P2POp(dist.irecv, received, (rank - 1 + size) % size),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return received
