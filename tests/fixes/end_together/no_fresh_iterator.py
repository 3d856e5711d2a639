"""The iterator has two names: what is drawn by the other one is not counted."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


class NoMoreData(Exception):
    pass


def batches_of(loader: DataLoader):
    source = iter(loader)
    while True:
        try:
            batch = next(source)
        except StopIteration as end:
            raise NoMoreData() from end
        yield batch


def step(model: torch.nn.Module, batches) -> None:
    loss = model(next(batches))
    dist.all_reduce(loss)


def train(model: torch.nn.Module, loader: DataLoader, steps: int) -> None:
    batches = spare = batches_of(loader)
    for turn in range(steps):
        if turn % 2:
            next(spare)
        try:
            step(model, batches)
        except NoMoreData:
            break
