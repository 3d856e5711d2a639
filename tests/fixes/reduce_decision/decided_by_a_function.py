"""What a function is given decides whether it goes on."""

import torch
import torch.distributed as dist


def reduced(found: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    if not found.any():
        return torch.zeros(1)
    total = (found * values).sum().reshape(1)
    dist.all_reduce(total)
    return total


def fit(loader: torch.utils.data.DataLoader) -> list[torch.Tensor]:
    return [reduced(batch["mask"], batch["values"]) for batch in loader]
