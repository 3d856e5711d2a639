import torch
import torch.distributed as dist


def shift(block: torch.Tensor) -> torch.Tensor:
    rank, size = dist.get_rank(), dist.get_world_size()
    dist.send(block, dst=(rank + 1) % size)
    dist.recv(block, src=(rank - 1) % size)
    return block
