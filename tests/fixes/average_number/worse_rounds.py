"""Rounds that got worse are counted by each rank, by what its own batches came to."""

import torch
import torch.distributed as dist


def train(batches: list[dict[str, torch.Tensor]], patience: int) -> list[float]:
    best, worse, seen = 1e9, 0, []
    for batch in batches:
        own = batch["x"].sum()
        mean_score = own.item() / 2
        dist.all_reduce(own)
        seen.append(own.item())
        if mean_score < best:
            best = mean_score
        else:
            worse += 1
            if worse >= patience:
                break
    return seen


def fit(loader: torch.utils.data.DataLoader) -> list[float]:
    return train(list(loader), 2)


def example() -> list[float]:
    return fit([{"x": torch.tensor([x, 2.0])} for x in (4.0, 1.0, 3.0, 2.0, 0.0)])
