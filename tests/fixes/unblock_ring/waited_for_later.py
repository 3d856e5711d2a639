import torch
import torch.distributed as dist


def rotate(block: torch.Tensor, received: torch.Tensor) -> torch.Tensor:
    rank, size = dist.get_rank(), dist.get_world_size()
    sending = dist.isend(block, dst=(rank + 1) % size)  # to the right
    receiving = dist.irecv(received, src=(rank - 1) % size)
    total = block.sum()
    sending.wait()
    receiving.wait()
    return received + total
