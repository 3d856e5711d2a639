"""A list that was filled while a set was walked has the order of the set."""

import torch
import torch.distributed as dist


def flush(weights: dict[str, torch.Tensor], changed: set[str]) -> None:
    pending = []
    for name in weights:
        if weights[name].requires_grad:
            pending.append(weights[name])
    for tensor in pending:
        dist.all_reduce(tensor)
