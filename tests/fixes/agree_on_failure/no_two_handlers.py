"""Two handlers, of which one goes on: what the other would do behind the collective is not known."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


class NothingToLearn(ValueError):
    pass


def loss_of(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    if batch["mask"].sum().item() == 0:
        raise NothingToLearn("every label is masked")
    return (batch["x"] * batch["mask"]).sum()


def train(loader: DataLoader) -> None:
    for batch in loader:
        try:
            loss = loss_of(batch)
        except NothingToLearn:
            continue
        except KeyError:
            loss = torch.tensor(0.0)
        dist.all_reduce(loss)
