import torch
import torch.distributed as dist


def rotate(block: torch.Tensor, received: torch.Tensor) -> torch.Tensor:
    rank, size = dist.get_rank(), dist.get_world_size()
    sending = dist.isend(block, dst=(rank + 1) % size)
    receiving = dist.irecv(received, src=(rank - 1) % size)
    for work in (sending, receiving):
        work.wait()
    return received
