"""Of a good value one rank's word is not enough."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def train(loader: DataLoader) -> None:
    for batch in loader:
        loss = batch["loss"].mean()
        if torch.isfinite(loss):
            continue
        dist.all_reduce(loss)
