import sys

import torch
import torch.distributed as dist


def train(losses: list[torch.Tensor], go_on: bool = True) -> list[float]:
    seen = []
    for loss in losses:
        if not torch.isfinite(loss):
            print("a loss is not finite")
            if go_on:
                seen.append(0.0)
                continue
            else:
                sys.exit(1)
        dist.all_reduce(loss)
        seen.append(loss.item())
    return seen


def fit(loader: torch.utils.data.DataLoader) -> list[float]:
    return train([batch["loss"] for batch in loader])


def example() -> list[float]:
    return train([torch.tensor(1.0), torch.tensor(float("nan")), torch.tensor(3.0)])
