import sys

import torch
import torch.distributed as dist


def train(losses: list[torch.Tensor]) -> list[float]:
    seen = []
    for loss in losses:
        value = loss.item()
        if not torch.isfinite(loss):
            print(f"loss is {value}, stopping")
            sys.exit()
        dist.all_reduce(loss)
        seen.append(loss.item())
    return seen


def fit(loader: torch.utils.data.DataLoader) -> list[float]:
    return train([batch["loss"] for batch in loader])


def example() -> list[float]:
    return train([torch.tensor(1.0), torch.tensor(3.0)])
