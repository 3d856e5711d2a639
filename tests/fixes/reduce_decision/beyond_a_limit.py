"""A round that ends where a local value is beyond a limit, if a setting asks for that."""

import torch
import torch.distributed as dist


def train(batches: list[dict[str, torch.Tensor]], early: bool, limit: float) -> list[float]:
    seen = []
    for batch in batches:
        divergence = batch["x"].sum()
        if early and divergence > 1.5 * limit:
            break
        dist.all_reduce(divergence)
        seen.append(divergence.item())
    return seen


def fit(loader: torch.utils.data.DataLoader) -> list[float]:
    return train(list(loader), True, 3.0)


def example() -> list[float]:
    return fit([{"x": torch.tensor([1.0, 2.0])}, {"x": torch.tensor([9.0, 9.0])}, {"x": torch.tensor([1.0, 1.0])}])
