"""A time limit read from each host's clock."""

import time

import torch
import torch.distributed as dist


def train(steps: int, limit: float, x: torch.Tensor) -> None:
    started = time.monotonic()
    for _ in range(steps):
        late = time.monotonic() - started > limit
        vote = torch.tensor([int(late)])
        dist.all_reduce(vote, op=dist.ReduceOp.MAX)
        late = bool(vote.item())
        if late:
            break
        dist.all_reduce(x)
