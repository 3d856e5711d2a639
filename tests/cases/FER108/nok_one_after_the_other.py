"""Threads that reduce, all at once."""

import threading

import torch
import torch.distributed as dist


def reduce_one(part: torch.Tensor) -> None:
    dist.all_reduce(part)


def reduce_parts(parts: list[torch.Tensor]) -> None:
    threads = []
    for part in parts:
        thread = threading.Thread(target=reduce_one, args=(part,))  # error: FER108
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join()
