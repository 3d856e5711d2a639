"""Nothing that could be told."""

import torch
import torch.distributed as dist


def micro_batches(batch: dict[str, torch.Tensor], limit: int) -> list[torch.Tensor]:
    number = batch["mask"].sum().item() // limit + 1
    return [batch["x"] for _ in range(number)]


def total_of(batch: dict[str, torch.Tensor], limit: int) -> float:
    total = 0.0
    for part in micro_batches(batch, limit):
        value = part.sum()
        dist.all_reduce(value)
        total += value.item()
    return total
