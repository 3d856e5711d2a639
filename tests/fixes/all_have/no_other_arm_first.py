"""Ranks for which the first test is true never come to the second."""

import torch
import torch.distributed as dist


def report(samples: list[dict[str, float]], seen: list[float]) -> None:
    if len(samples) > 100:
        print("too many")
    elif all("score" in sample for sample in samples):
        summed = torch.tensor(sum(sample["score"] for sample in samples))
        dist.all_reduce(summed)
        seen.append(summed.item())


def train(loader: torch.utils.data.DataLoader) -> list[float]:
    seen: list[float] = []
    for batch in loader:
        report(batch["samples"], seen)
    return seen
