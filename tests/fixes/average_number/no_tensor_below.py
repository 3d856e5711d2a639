"""What is compared is a tensor, and read as one further down."""

import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader


def fit(model: nn.Module, loader: DataLoader) -> float:
    best = 0.0
    for batch in loader:
        mean_score = model(batch["x"]).mean()
        if mean_score > best:
            dist.barrier()
            print("all here")
        best = mean_score.item()
    return best
