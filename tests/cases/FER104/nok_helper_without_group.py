"""A helper that synchronises the number of chunks only if it is given a group."""

import torch
import torch.distributed as dist


def split(batch: dict[str, torch.Tensor], budget: int, dp_group=None) -> list[int]:
    number = batch["attention_mask"].sum() // budget + 1
    if dp_group is not None:
        dist.all_reduce(number, op=dist.ReduceOp.MAX, group=dp_group)
    return list(range(int(number.item())))


def log_probs(batch: dict[str, torch.Tensor], budget: int, dp_group) -> None:
    for chunk in split(batch, budget):
        dist.all_reduce(batch["inputs"][chunk], group=dp_group)  # error: FER104
