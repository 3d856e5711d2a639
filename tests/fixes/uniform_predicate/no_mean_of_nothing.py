"""The mean of what a rank's mask selects is reduced: one that selects nothing would make it no number for all."""

import torch
import torch.distributed as dist


def log_error(values: torch.Tensor, targets: torch.Tensor, log: list[float]) -> None:
    positive = targets > 0
    if positive.any():
        error = (values[positive] - targets[positive]).abs().mean()
        dist.all_reduce(error)
        log.append(error.item())


def train(loader: torch.utils.data.DataLoader) -> list[float]:
    log: list[float] = []
    for batch in loader:
        log_error(batch["values"], batch["targets"], log)
    return log
