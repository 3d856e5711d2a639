"""A file and a number of files: one answer of all ranks is not surely the meant one."""

import os

import torch.distributed as dist


def prepare(path: str, folder: str) -> None:
    files = len(os.listdir(folder))
    if files < 3 or not os.path.exists(path):
        if dist.get_rank() == 0:
            with open(path, "w") as file:
                file.write("here")
        dist.barrier()
