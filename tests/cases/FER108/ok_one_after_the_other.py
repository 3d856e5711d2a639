"""Threads that reduce, one after the other."""

import threading

import torch
import torch.distributed as dist


def reduce_one(part: torch.Tensor) -> None:
    dist.all_reduce(part)


def reduce_parts(parts: list[torch.Tensor]) -> None:
    threads = []
    for part in parts:
        thread = threading.Thread(target=reduce_one, args=(part,))
        thread.start()
        thread.join()
        threads.append(thread)
