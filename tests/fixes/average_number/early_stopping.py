"""An object is handed the loss of the rank's own validation, and says when to stop."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader


class EarlyStopping:
    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.counter = 0
        self.best = float("inf")
        self.early_stop = False

    def __call__(self, loss: float) -> None:
        if loss < self.best:
            self.best = loss
            self.counter = 0
        else:
            self.counter += 1
            if self.counter >= self.patience:
                self.early_stop = True


def validate(model: nn.Module, loader: DataLoader) -> float:
    losses = [model(batch["x"]).mean().item() for batch in loader]
    return sum(losses) / len(losses)


def train(model: nn.Module, loader: DataLoader, valid: DataLoader, optimizer: torch.optim.Optimizer) -> None:
    model = DDP(model)
    early_stopping = EarlyStopping(3)
    for _ in range(100):
        for batch in loader:
            model(batch["x"]).mean().backward()
            optimizer.step()
        early_stopping(validate(model, valid))
        if early_stopping.early_stop:
            print("stopping early")
            break
