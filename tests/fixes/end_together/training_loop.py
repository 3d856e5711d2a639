"""A training loop that ends when the data does."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


class NoMoreData(Exception):
    pass


class Trainer:
    def __init__(self, model: torch.nn.Module, loader: DataLoader) -> None:
        self.model = model
        self.loader = loader

    def batches(self):
        source = iter(self.loader)
        while True:
            try:
                batch = next(source)
            except StopIteration as end:
                raise NoMoreData() from end
            yield batch

    def step(self, batches) -> None:
        for _ in range(2):
            loss = self.model(next(batches))
            dist.all_reduce(loss)

    def train(self, steps: int) -> int:
        batches = self.batches()  # of this rank
        done = 0
        while done < steps:
            try:
                self.step(batches)
            except NoMoreData:
                print("no more data")
                break
            done += 1
        return done


def example() -> int:
    return Trainer(torch.tensor, [1.0, 2.0, 3.0, 4.0, 5.0]).train(100)
