"""What is reduced is only there in the branch, and whose file counts is not for a tool to say."""

import os

import torch
import torch.distributed as dist


def prepare(path: str, folder: str) -> None:
    files = len(os.listdir(folder))
    if files < 3 or not os.path.exists(path):
        if dist.get_rank() == 0:
            os.makedirs(path)
        number = torch.tensor([len(path)])
        dist.all_reduce(number)
        print(number)
