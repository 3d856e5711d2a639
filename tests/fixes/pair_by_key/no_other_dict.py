"""The other ranks walk something else."""

import torch
import torch.distributed as dist


def load(full: dict[str, torch.Tensor], parts: dict[str, torch.Tensor], order: dict[str, torch.Tensor]) -> None:
    if dist.get_rank() == 0:
        for (name, whole), part in zip(full.items(), parts.values()):
            dist.broadcast(whole + part, src=0)
            print(name)
    else:
        for part in order.values():
            dist.broadcast(part, src=0)
