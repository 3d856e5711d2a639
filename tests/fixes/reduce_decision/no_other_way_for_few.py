"""What is returned for few may be another way to the same, or all that those can take: it is not told which."""

import torch
import torch.distributed as dist


def total(values: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    if len(values) < 8:
        return torch.cumsum(values * scale, 0)
    result = values.sum()
    dist.all_reduce(result)
    return result


def fit(loader: torch.utils.data.DataLoader, scale: torch.Tensor) -> list[torch.Tensor]:
    return [total(batch["x"][batch["mask"]], scale) for batch in loader]
