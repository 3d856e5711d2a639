"""All ranks save together, each when its own score is the best so far."""

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader


def evaluate(model: nn.Module, loader: DataLoader) -> float:
    right = [float((model(batch["x"]).argmax(-1) == batch["labels"]).float().mean()) for batch in loader]
    return sum(right) / len(right)


def save(model: nn.Module, path: str) -> None:
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()


def fit(model: nn.Module, loader: DataLoader, epochs: int, path: str) -> None:
    best = 0.0
    for _ in range(epochs):
        accuracy = evaluate(model, loader)
        if accuracy > best:
            best = accuracy
            save(model, path)
