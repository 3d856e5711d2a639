import torch
import torch.distributed as dist


def swap(block: torch.Tensor) -> torch.Tensor:
    rank = dist.get_rank()
    if rank == 0:
        dist.send(block, dst=1)
        dist.recv(block, src=1)
    elif rank == 1:
        dist.send(block, dst=0)
        dist.recv(block, src=0)
    return block
