"""The rank with the best score, by the own batch."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def share_best(weight: torch.Tensor, loader: DataLoader) -> None:
    for batch in loader:
        best = batch["scores"].argmax().item()
        dist.broadcast(weight, src=best)  # error: FER404
