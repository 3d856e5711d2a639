"""A function that agrees if it is told over which group: both calls of it are told."""

import torch
import torch.distributed as dist


def micro_batches(batch: dict[str, torch.Tensor], limit: int, even: bool = False, dp_group=None) -> list[torch.Tensor]:
    number = int(batch["mask"].sum().item()) // limit + 1
    if dp_group is not None:
        count = torch.tensor(number)
        dist.all_reduce(count, op=dist.ReduceOp.MAX, group=dp_group)
        number = int(count.item())
    return [batch["x"] for _ in range(number + even)]


def total_of(batch: dict[str, torch.Tensor], limit: int, even: bool) -> float:
    total = 0.0
    if even:
        parts = micro_batches(
            batch,
            limit,
            even=True,  # or nearly so
        )
    else:
        parts = micro_batches(batch, limit)
    for part in parts:
        value = part.sum()
        dist.all_reduce(value)
        total += value.item()
    return total


def example() -> list[float]:
    batch = {"x": torch.tensor([1.0, 2.0]), "mask": torch.tensor([0, 1])}
    return [total_of(batch, 1, True), total_of(batch, 1, False)]
