"""A thread that watches the ranks has a group of its own."""

import threading
import time

import torch
import torch.distributed as dist


def train(batches: list[torch.Tensor]) -> None:
    group = dist.new_group()
    group_of_watch = dist.new_group()

    def watch() -> None:
        while True:
            dist.barrier(group=group_of_watch)
            time.sleep(60)

    threading.Thread(target=watch, daemon=True).start()
    for batch in batches:
        dist.all_reduce(batch, group=group)
