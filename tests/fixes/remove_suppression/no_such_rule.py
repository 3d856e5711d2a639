"""A code that may be mistyped, what cannot be understood, and a block with two ends."""

import torch.distributed as dist


def finish() -> None:
    dist.barrier()  # ferrule: ignore[FER999]
    dist.barrier()  # ferrule: ignore
    # ferrule: disable[FER102]
    dist.barrier()
    # ferrule: enable[FER102]
