"""What is released after an exception is more than a collective."""

import torch
import torch.distributed as dist


def clean_up(files: list, total: torch.Tensor) -> None:
    for file in files:
        file.close()
    dist.all_reduce(total)


def run(work, files: list, total: torch.Tensor) -> None:
    try:
        work(files)
        dist.all_reduce(total)
    finally:
        clean_up(files, total)
