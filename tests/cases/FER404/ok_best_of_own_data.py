"""The rank with the best score, by those of all."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def share_best(weight: torch.Tensor, loader: DataLoader) -> None:
    for batch in loader:
        scores = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(scores, batch["scores"].sum().reshape(1))
        best = torch.cat(scores).argmax().item()
        dist.broadcast(weight, src=best)
