"""What is asked of the clock and of a setting has a name that says so."""

import time

import torch.distributed as dist


def train(steps: int, started: float, budget: float, args) -> int:
    done = 0
    for _ in range(steps):
        if time.time() - started > budget and args.synchronise:
            dist.barrier()
            break
        done += 1
    return done
