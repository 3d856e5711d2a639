"""Stop when the loss of this rank's share is small."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def fit(net: torch.nn.Module, loader: DataLoader, good_enough: float) -> None:
    for batch in loader:
        loss = net(batch["inputs"]).mean()
        if loss.item() < good_enough:
            break
        dist.all_reduce(batch["inputs"])  # error: FER103
