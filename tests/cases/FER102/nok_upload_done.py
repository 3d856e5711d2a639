"""A barrier once the upload of this host has finished."""

from concurrent.futures import Future

import torch
import torch.distributed as dist


class Saver:
    def __init__(self) -> None:
        self.pending: Future | None = None

    def poll(self, upload: Future) -> bool:
        finished = upload.done()
        if finished:
            dist.barrier()  # error: FER102
        return finished
