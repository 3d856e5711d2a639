import torch
import torch.distributed as dist


def step(loss: torch.Tensor) -> None:
    bad = torch.full((), dist.get_rank())
    if bad.item():  # ferrule: ignore[FER102] seen on one rank only
        dist.barrier()
