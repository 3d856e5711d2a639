"""Nothing calls `check` where its exception is survived: the job ends on it, as it is meant to."""

import torch
import torch.distributed as dist


class NoLabels(Exception):
    pass


def count(labels: torch.Tensor) -> int:
    if (labels >= 0).sum().item() == 0:
        raise NoLabels
    return int(labels.numel())


def check(labels: torch.Tensor) -> int:
    seen = count(labels)
    dist.all_reduce(torch.tensor(seen))
    return seen


def train(batches: list[torch.Tensor]) -> None:
    for labels in batches:
        check(labels)
