"""A rank that is done would end the work of those that are not."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def fit(loader: DataLoader) -> list[float]:
    seen = []
    finished = False
    for batch in loader:
        own = batch["x"].sum()
        dist.all_reduce(own)
        seen.append(own.item())
        if torch.isnan(batch["x"]).any():
            finished = True
        if finished:
            break
    return seen
