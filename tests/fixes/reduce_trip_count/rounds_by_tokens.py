import math

import torch
import torch.distributed as dist


def forward_chunks(batch: dict[str, torch.Tensor], budget: int) -> list[float]:
    tokens = int(batch["attention_mask"].sum().item())
    losses = []
    for chunk in range(math.ceil(tokens / budget)):
        loss = torch.tensor([float(chunk)])
        dist.all_reduce(loss)
        losses.append(loss.item())
    return losses


def example() -> list[float]:
    return forward_chunks({"attention_mask": torch.tensor([1, 1, 1, 0])}, 2)
