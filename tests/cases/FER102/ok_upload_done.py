"""A barrier once the upload of this host has finished."""

from concurrent.futures import Future

import torch
import torch.distributed as dist


class Saver:
    def __init__(self) -> None:
        self.pending: Future | None = None

    def poll(self, upload: Future) -> bool:
        vote = torch.tensor([int(upload.done())])
        dist.all_reduce(vote, op=dist.ReduceOp.MIN)
        finished = bool(vote.item())
        if finished:
            dist.barrier()
        return finished
