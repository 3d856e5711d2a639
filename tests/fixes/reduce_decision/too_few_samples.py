"""A rank that has too few samples to draw from cannot go on: all do without what they have."""

import random

import torch
import torch.distributed as dist


def train(batches: list[dict[str, torch.Tensor]]) -> list[float]:
    seen = []
    for batch in batches:
        kept = list(batch["x"][batch["mask"]])
        if len(kept) < 2:
            continue
        total = torch.stack(random.sample(kept, 2)).sum()
        dist.all_reduce(total)
        seen.append(total.item())
    return seen


def fit(loader: torch.utils.data.DataLoader) -> list[float]:
    return train(list(loader))
