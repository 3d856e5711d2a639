"""The file has nothing to ask the launcher with."""

from os import environ

import torch
import torch.distributed as dist


def start() -> None:
    rank = int(environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=int(environ["WORLD_SIZE"]))
