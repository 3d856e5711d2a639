import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def train(loader: DataLoader) -> None:
    batches = iter(loader)
    while True:
        try:
            loss = next(batches)["x"].sum()
            dist.all_reduce(loss)
        except StopIteration:
            break
