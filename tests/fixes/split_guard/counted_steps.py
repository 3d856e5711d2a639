"""What else the guard asks is a counter, which counts under a setting: the same on all ranks."""

import os

import torch
import torch.distributed as dist


def train(batches: list[torch.Tensor], counting: bool, every: int, folder: str) -> None:
    step = 0
    for batch in batches:
        dist.all_reduce(batch)
        if counting:
            step += 1
        if dist.get_rank() == 0 and step % every == 0:
            path = os.path.join(folder, str(step))
            os.makedirs(path, exist_ok=True)
            dist.barrier()
            torch.save(batch, os.path.join(path, "batch.pt"))
