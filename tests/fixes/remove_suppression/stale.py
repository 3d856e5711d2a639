# ferrule: ignore-file[FER303]
"""Comments that suppress nothing, alone and beside others."""

import torch
import torch.distributed as dist


def report(loss: torch.Tensor) -> float:
    if dist.get_rank() == 0:
        dist.all_reduce(loss)  # ferrule: ignore[FER101, FER102, FER103] run with one rank only
    # ferrule: ignore[FER102] seen by all
    dist.all_reduce(loss)
    dist.barrier()  # all of them  # ferrule: ignore[FER104] a reason  # noqa: E501
    dist.barrier()  # ferrule: ignore[FER104]
    return loss.item()  # noqa: FER106, E501


def example() -> float:
    return report(torch.tensor(1.0))
