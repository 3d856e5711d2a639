"""Whether one rank's file is enough, or all need theirs, is not for a tool to say."""

import os

import torch.distributed as dist


def prepare(path: str) -> None:
    if os.path.exists(path):
        return
    if dist.get_rank() == 0:
        os.makedirs(path)
    dist.barrier()
