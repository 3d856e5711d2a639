"""A flag that is true as soon as one item brings something: what the others would bring to the sum is not said."""

import torch
import torch.distributed as dist


def report(samples: list[dict[str, float]], seen: list[float]) -> None:
    found, total = False, 0.0
    for sample in samples:
        if "score" in sample:
            found = True
            total += sample["score"]
    if found:
        summed = torch.tensor(total)
        dist.all_reduce(summed)
        seen.append(summed.item())


def train(loader: torch.utils.data.DataLoader) -> list[float]:
    seen: list[float] = []
    for batch in loader:
        report(batch["samples"], seen)
    return seen
