import torch
import torch.distributed as dist


def swap(block: torch.Tensor, received: torch.Tensor) -> torch.Tensor:
    rank = dist.get_rank()
    if rank == 0:
        dist.send(block, dst=1)
        dist.recv(received, src=1)
    elif rank == 1:
        # to the first
        dist.send(block, dst=0)
        dist.recv(received, src=0)  # and back
    return received
