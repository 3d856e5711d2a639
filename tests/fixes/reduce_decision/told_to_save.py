"""A signal reaches each process at its own time, and those that have seen it wait for the others before they save."""

import signal

import torch
import torch.distributed as dist


class Trainer:
    def __init__(self) -> None:
        self.preempted = False
        signal.signal(signal.SIGUSR1, self._preempt)

    def _preempt(self, number: int, stack: object) -> None:
        self.preempted = True

    def fit(self, batches: list[torch.Tensor], path: str) -> None:
        for batch in batches:
            dist.all_reduce(batch)
            if self.preempted:
                dist.barrier()
                if dist.get_rank() == 0:
                    torch.save(batch, path)
