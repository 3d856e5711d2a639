"""A rank whose batch has no labels goes on with the next one, while the others wait in the reduction."""

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
    dist.all_reduce(torch.tensor(seen))  # error: FER105
    return seen


def train(batches: list[torch.Tensor]) -> None:
    for labels in batches:
        try:
            check(labels)  # error: FER105
        except NoLabels:
            continue
