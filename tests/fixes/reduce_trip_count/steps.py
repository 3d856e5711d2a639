"""Chunks of a fixed size, as many as the rank's own tokens fill."""

import torch
import torch.distributed as dist


def losses(hidden: torch.Tensor, mask: torch.Tensor, size: int) -> list[float]:
    tokens = int(mask.sum().item())
    found = []
    for start in range(0, tokens, size):  # chunk by chunk
        loss = hidden[start : start + size].sum()
        dist.all_reduce(loss)
        found.append(loss.item())
    return found


def run(batch: dict[str, torch.Tensor]) -> list[float]:
    return losses(batch["hidden"], batch["attention_mask"], 2)


def example() -> list[float]:
    return run({"hidden": torch.tensor([1.0, 2.0, 3.0, 4.0]), "attention_mask": torch.tensor([1, 1, 1, 0])})
