"""How many ranks there are is the same for all: only the clock is asked of them."""

import time

import torch.distributed as dist


def train(steps: int, started: float, budget: float) -> int:
    done = 0
    for _ in range(steps):
        if time.time() - started > budget and dist.get_world_size() > 1:
            dist.barrier()
            break
        done += 1
    return done


def example() -> list[int]:
    return [train(2, time.time(), 60.0), train(2, time.time() - 100.0, 60.0)]
