"""Ranks meet where all of them are done with it."""

import torch
import torch.distributed as dist


class Shared:
    def __init__(self, rows: torch.Tensor) -> None:
        self.rows = rows

    def release(self) -> None:
        self.rows = torch.empty(0)
        dist.barrier()
