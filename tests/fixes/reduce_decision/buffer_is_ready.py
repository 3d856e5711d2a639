"""A buffer of the rank's own that may not be full enough, for a round of training and for a part of it."""

import torch
import torch.distributed as dist


class Buffer:
    def __init__(self, items: list[torch.Tensor]) -> None:
        # each rank keeps its share
        self.items = items[dist.get_rank() :: dist.get_world_size()]

    def is_ready(self, least: int) -> bool:
        return len(self.items) >= least


class Trainer:
    def __init__(self, items: list[torch.Tensor]) -> None:
        self.buffer = Buffer(items)
        self.seen: list[float] = []

    def run(self, least: int, more: int) -> list[float]:
        if not self.buffer.is_ready(least):
            print("not enough yet")
            return []
        with_actor = self.buffer.is_ready(more)
        self.update(with_actor)
        return self.seen

    def update(self, with_actor: bool) -> None:
        total = self.buffer.items[0].clone()
        dist.all_reduce(total)
        self.seen.append(total.item())
        if with_actor:
            dist.all_reduce(total)
            self.seen.append(total.item())
