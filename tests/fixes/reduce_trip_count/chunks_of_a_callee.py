"""Chunks of the tokens that count, each with a reduction: the batch is known to the caller alone."""

import torch
import torch.distributed as dist


def chunked(hidden: torch.Tensor, labels: torch.Tensor, size: int) -> list[float]:
    count = (labels != -100).sum()
    found = []
    for start in range(0, count, size):
        loss = hidden[start : start + size].sum()
        dist.all_reduce(loss)
        found.append(loss.item())
    return found


def losses(batch: dict[str, torch.Tensor]) -> list[float]:
    return chunked(batch["hidden"], batch["labels"], 2)
