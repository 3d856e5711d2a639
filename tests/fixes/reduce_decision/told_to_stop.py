"""A signal reaches each process at its own time; a callback asks for the end, too."""

import signal

import torch
import torch.distributed as dist


class Trainer:
    def __init__(self) -> None:
        self.aborted = False
        self.should_stop = False
        signal.signal(signal.SIGTERM, self._abort)

    def _abort(self, number: int, stack: object) -> None:
        self.aborted = True

    def fit(self, batches: list[torch.Tensor]) -> list[float]:
        seen = []
        for batch in batches:
            dist.all_reduce(batch)
            seen.append(batch.sum().item())
            if self.aborted or self.should_stop:
                break
        return seen
