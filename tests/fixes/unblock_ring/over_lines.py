import torch
import torch.distributed as dist


def shift(operations: list[torch.Tensor], received: torch.Tensor, ring: dist.ProcessGroup) -> torch.Tensor:
    rank, size = dist.get_rank(), dist.get_world_size()
    dist.send(
        tensor=operations[0],
        dst=(rank + 1) % size,
        group=ring,
    )

    # from the left
    dist.recv(received, (rank - 1) % size, ring)
    return received
