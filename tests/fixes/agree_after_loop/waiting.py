"""A rank that waits too long for a file gives up: so do all, once each has stopped waiting."""

import os
import time

import torch.distributed as dist


def wait_for(path: str, deadline: float) -> bool:
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    dist.barrier()
    return True


def example() -> list[bool]:
    return [wait_for("nowhere", time.monotonic() - 1.0), wait_for(".", time.monotonic() + 60.0)]
