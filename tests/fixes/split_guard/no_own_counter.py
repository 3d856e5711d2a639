"""A counter of each rank's own: how many of its sums were finite."""

import os

import torch
import torch.distributed as dist


def train(batches: list[torch.Tensor], every: int, folder: str) -> None:
    step = 0
    for batch in batches:
        if torch.isfinite(batch).all():
            step += 1
        if dist.get_rank() == 0 and step % every == 0:
            path = os.path.join(folder, str(step))
            os.makedirs(path, exist_ok=True)
            dist.barrier()
            torch.save(batch, os.path.join(path, "batch.pt"))
