"""The collective stands in the `try`, below the call that raises: it goes behind it."""

import contextlib

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
    for batch in loader:
        try:  # may fail
            with contextlib.nullcontext():
                loss = loss_of(batch)

                # the sum of all
                dist.all_reduce(loss)
                losses.append(loss.item())
        except NothingToLearn:
            # nothing to be done
            continue
        losses.append(0.0)
    return losses


def validate(loader: DataLoader) -> list[float]:
    losses = []
    for batch in loader:
        try:
            loss = loss_of(batch)
            dist.all_reduce(loss)
        except NothingToLearn:
            loss = torch.tensor(0.0)
        losses.append(loss.item())
    return losses


def example() -> list[float]:
    some = {"x": torch.tensor([1.0, 2.0]), "mask": torch.tensor([0, 1])}
    none = {"x": torch.tensor([3.0, 4.0]), "mask": torch.tensor([0, 0])}
    return train([some, none, some]) + validate([some, none])
