"""The first rank has its barrier further down: one for all above is one too many for it."""

import os

import torch.distributed as dist


def load(path: str) -> None:
    if dist.get_rank() != 0:
        dist.barrier()
    if os.path.exists(path):
        print("found")
        if dist.get_rank() == 0:
            dist.barrier()
    else:
        os.makedirs(path)
        dist.barrier()
