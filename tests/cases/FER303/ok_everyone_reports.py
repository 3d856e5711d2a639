"""All ranks report to the first one, which listens to one of them."""

import torch
import torch.distributed as dist


def report(score: torch.Tensor, reporter: int) -> None:
    rank = dist.get_rank()
    if rank == 0:
        dist.recv(score, src=reporter)
    elif rank == reporter:
        dist.send(score, dst=0)
