import torch
import torch.distributed as dist


def save(values: torch.Tensor, rank: int) -> None:
    if rank == 0:
        print(values)
        return
    dist.all_reduce(values)
    dist.barrier()
