"""The first rank works around its barrier, and the others have theirs further down."""

import os

import torch.distributed as dist


def prepare(path: str) -> None:
    if dist.get_rank() == 0:
        os.remove(path)
        dist.barrier()
        os.listdir(path)
    if os.path.exists(path):
        print("found")
        if dist.get_rank() != 0:
            dist.barrier()
    else:
        os.makedirs(path)
        dist.barrier()
