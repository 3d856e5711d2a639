"""A helper leaves a save running, which is waited for."""

from typing import Any

import torch.distributed as dist
import torch.distributed.checkpoint as dcp


class Saver:
    def __init__(self) -> None:
        self.pending: Any = None

    def wait(self) -> None:
        if self.pending is not None:
            self.pending.result()

    def save(self, state: dict[str, Any], path: str) -> None:
        self.wait()
        self.pending = dcp.async_save(state, checkpoint_id=path)


class Manager:
    def __init__(self) -> None:
        self.saver = Saver()

    def save(self, state: dict[str, Any], step: int) -> None:
        self.saver.save(state, f"step-{step}")
        self.saver.wait()
        dist.barrier()
