import time

import torch
import torch.distributed as dist


def train(steps: int, deadline: float) -> int:
    done = 0
    for _ in range(steps):
        if time.time() > deadline:
            break
        dist.barrier()
        done += 1
    return done


def example() -> list[int]:
    return [train(3, time.time() + 60.0), train(3, time.time() - 60.0)]
