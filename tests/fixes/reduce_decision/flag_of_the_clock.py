"""A flag that decides in several places."""

import time

import torch.distributed as dist


def train(steps: int, limit: float | None, log: list[object]) -> None:
    start = time.time()
    for step in range(steps):
        time_is_up = limit is not None and time.time() - start >= limit

        if step % 2 == 0 and not time_is_up:
            log.append(step)
            dist.barrier()

        if time_is_up:
            log.append("over")
            break


def example() -> list[object]:
    log: list[object] = []
    train(4, None, log)
    train(4, 0.0, log)
    return log
