"""A name that has held other things before: what it holds at the test is averaged, where it is made."""

import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader


def fit(model: nn.Module, loader: DataLoader, epochs: int) -> None:
    best, avg_loss = None, 0.0
    for _ in range(epochs):
        total, batches = 0.0, 0
        for batch in loader:
            total += model(batch["x"]).mean().item()
            batches += 1
            avg_loss = round(total / batches, 5)
            print(avg_loss)
        avg_loss = total / batches
        if best is None or avg_loss < best - 1e-3:
            best = avg_loss
            dist.barrier()
            print("best so far")
