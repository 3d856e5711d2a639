"""A helper leaves a thread running."""

import threading

import torch
import torch.distributed as dist


class Reporter:
    def __init__(self) -> None:
        self.thread: threading.Thread | None = None

    def report(self) -> None:
        dist.barrier()
        print("all ranks are there")

    def begin(self) -> None:
        self.thread = threading.Thread(target=self.report)
        self.thread.start()

    def wait(self) -> None:
        if self.thread is not None:
            self.thread.join()


class Meter:
    def __init__(self) -> None:
        self.reporter = Reporter()

    def sum(self, total: torch.Tensor) -> torch.Tensor:
        self.reporter.begin()
        dist.all_reduce(total)  # error: FER108
        return total
