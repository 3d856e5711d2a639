"""Sender and receivers that name different groups."""

import torch
import torch.distributed as dist


def share(x: torch.Tensor, source: int, tp_group) -> torch.Tensor:
    if dist.get_rank() == source:
        dist.broadcast(x, src=source)  # error: FER102
        return x
    received = torch.empty_like(x)
    dist.broadcast(received, src=source, group=tp_group)
    return received
