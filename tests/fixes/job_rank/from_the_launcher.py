"""Of two nodes both claim the ranks 0 to 7."""

import os

import torch
import torch.distributed as dist


def start() -> None:
    rank = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=int(os.environ.get("WORLD_SIZE", 1)))  # of all nodes
