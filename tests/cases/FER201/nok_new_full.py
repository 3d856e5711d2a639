"""As many rows are added on every rank, whatever it has."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def gather_padded(t: torch.Tensor, more: int) -> torch.Tensor:
    t = torch.cat([t, t.new_full((t.shape[0], more), 0)], dim=1)
    gathered = [torch.empty_like(t) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, t)
    return torch.cat(gathered)


def evaluate(loader: DataLoader) -> list[torch.Tensor]:
    return [gather_padded(batch["attention_mask"], 2) for batch in loader]  # error: FER201
