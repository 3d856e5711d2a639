"""Raised and caught in one function."""

import torch
import torch.distributed as dist


def score(batch: dict[str, torch.Tensor]) -> float:
    total = torch.zeros(())
    try:
        if batch["weights"].sum().item() == 0:
            raise ZeroDivisionError
        total = (batch["scores"] * batch["weights"]).sum() / batch["weights"].sum()
        dist.all_reduce(total)  # error: FER105
    except ZeroDivisionError:
        print("no weights")
    return total.item()
