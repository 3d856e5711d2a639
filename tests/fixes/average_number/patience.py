"""A counter of epochs without a better loss, kept by each rank for its own loss."""

from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader


def train(model: nn.Module, loader: DataLoader, epochs: int, patience: int) -> None:
    model = DDP(model)
    best, bad_epochs = float("inf"), 0
    for _ in range(epochs):
        total, batches = 0.0, 0
        for batch in loader:
            loss = model(batch["x"]).mean()
            loss.backward()
            total += loss.item()
            batches += 1
        avg_loss = total / batches
        if avg_loss < best:
            best = avg_loss
            bad_epochs = 0
        else:
            bad_epochs += 1
            if bad_epochs >= patience:
                break
