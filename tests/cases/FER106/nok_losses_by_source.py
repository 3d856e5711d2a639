"""A running sum for each source that this rank has seen so far."""

from collections import defaultdict

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def evaluate(model, loader: DataLoader, sources: list[str]) -> dict[str, float]:
    sums: dict[str, torch.Tensor] = defaultdict(lambda: torch.zeros(()))
    for batch in loader:
        sums[batch["source"]] += model(batch["inputs"]).mean()
    for source in sums:
        dist.all_reduce(sums[source])  # error: FER106
    return {source: total.item() for source, total in sums.items()}
