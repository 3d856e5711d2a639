import torch
import torch.distributed as dist


def rotate(block: torch.Tensor, received: torch.Tensor) -> torch.Tensor:
    rank, size = dist.get_rank(), dist.get_world_size()
    work = dist.isend(block, (rank + 1) % size)
    dist.recv(received, (rank - 1) % size)
    work.wait()
    return received
