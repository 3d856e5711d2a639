"""Training survives the exception, evaluation does not."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


class NoLabels(Exception):
    pass


def count(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    labels = (batch["labels"] >= 0).sum()
    if labels.item() == 0:
        raise NoLabels
    return labels


def train(loader: DataLoader) -> int:
    seen = 0
    for batch in loader:
        try:
            count(batch)
        except NoLabels:
            continue
        seen += 1
    return seen


def evaluate(loader: DataLoader) -> torch.Tensor:
    total = torch.zeros(())
    for batch in loader:
        try:
            total += count(batch)
        except NoLabels:
            print("no labels")
    dist.all_reduce(total)
    return total
