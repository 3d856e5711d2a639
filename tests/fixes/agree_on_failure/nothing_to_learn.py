"""A batch from which one rank has nothing to learn is left out by all; the collective comes behind the `try`."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


class NothingToLearn(ValueError):
    pass


def loss_of(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    if batch["mask"].sum().item() == 0:
        raise NothingToLearn("every label is masked")
    return (batch["x"] * batch["mask"]).sum()


def train(loader: DataLoader) -> list[float]:
    losses = []
    skipped = 0
    for batch in loader:
        try:
            loss = loss_of(batch)
        except NothingToLearn:
            # counted, so that somebody sees it
            skipped += 1
            continue
        dist.all_reduce(loss)
        losses.append(loss.item())
    return [*losses, skipped]


def example() -> list[float]:
    some = {"x": torch.tensor([1.0, 2.0]), "mask": torch.tensor([0, 1])}
    none = {"x": torch.tensor([3.0, 4.0]), "mask": torch.tensor([0, 0])}
    return train([some, none, some])
