"""Values for a metric, gathered by accelerate."""

import torch
from accelerate import Accelerator


def accuracy(accelerator: Accelerator, batch: dict[str, torch.Tensor], predictions: torch.Tensor) -> float:
    correct = (predictions == batch["labels"])[batch["labels"] != -100]
    every = accelerator.gather(torch.stack([correct.float().sum(), torch.tensor(float(correct.numel()))]))
    return every.mean().item()
