import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def share(items: list[object], rank: int, world_size: int) -> list[object]:
    return items[rank::world_size]


def train(loader: DataLoader) -> None:
    batches = iter(loader)
    while True:
        try:
            loss = next(batches)["x"].sum()
            dist.all_reduce(loss)
        except StopIteration:
            break
