"""The data of one rank ends, and it leaves the loop alone."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def share(items: list[object], rank: int, world_size: int) -> list[object]:
    return items[rank::world_size]


def train(loader: DataLoader, log: list[object]) -> None:
    batches = iter(loader)
    while True:
        # the next one
        try:
            batch = next(batches)
        except StopIteration:  # no more
            log.append("over")
            # the last words
            if log:
                log.append(len(log))
            break

        loss = batch["x"].sum()
        dist.all_reduce(loss)
        log.append(loss.item())


def example() -> list[object]:
    log: list[object] = []
    train([{"x": torch.tensor([1.0])}, {"x": torch.tensor([2.0])}], log)
    return log
