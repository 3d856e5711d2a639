"""A rank without gradients would take the first of none, alone, if it had to go on."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def largest(batch: dict[str, torch.Tensor]) -> float:
    scores = [score for score in batch["scores"] if score > 0]
    if len(scores) == 0:
        return 0.0
    device = scores[0].device
    top = torch.tensor([float(len(scores))], device=device)
    dist.all_reduce(top)
    return top.item()


def train(loader: DataLoader) -> list[float]:
    return [largest(batch) for batch in loader]
