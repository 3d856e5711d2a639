import torch
import torch.distributed as dist


def rotate(block: torch.Tensor, received: torch.Tensor) -> torch.Tensor:
    rank, size = dist.get_rank(), dist.get_world_size()
    dist.send(block, dst=(rank + 1) % size)  # to the right
    dist.recv(received, src=(rank - 1) % size)
    return received
