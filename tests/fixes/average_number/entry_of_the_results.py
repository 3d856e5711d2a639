"""The results of an evaluation are a dict; one of them decides."""

import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader


def evaluate(model: nn.Module, loader: DataLoader) -> dict[str, float]:
    loss, batches = 0.0, 0
    for batch in loader:
        loss += model(batch["x"]).mean().item()
        batches += 1
    return {"loss": loss / batches, "batches": batches}


def fit(model: nn.Module, loader: DataLoader, epochs: int) -> None:
    best = 1e9
    for _ in range(epochs):
        results = evaluate(model, loader)
        if results["loss"] < best:
            best = results["loss"]
            dist.barrier()
