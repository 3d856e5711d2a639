import time

import torch
import torch.distributed as dist


def agree(flag: bool) -> bool:
    votes = torch.tensor([int(flag)])
    dist.all_reduce(votes, op=dist.ReduceOp.MAX)
    return bool(votes.item())


def should_stop(started: float, limit: float, wants_to: bool) -> bool:
    return time.monotonic() - started > limit and agree(wants_to)


def example() -> list[bool]:
    now = time.monotonic()
    return [should_stop(now, 60.0, True), should_stop(now - 100.0, 60.0, True), should_stop(now - 100.0, 60.0, False)]
