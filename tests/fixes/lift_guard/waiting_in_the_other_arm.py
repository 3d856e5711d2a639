"""The ranks that wait do so alone."""

import torch.distributed as dist


def prepare(said: list[str]) -> None:
    if dist.get_rank() == 0:
        said.append("work")
    else:
        said.append("waiting")
        # until the first rank is done
        dist.barrier()

    said.append("go on")


def example() -> list[str]:
    said: list[str] = []
    prepare(said)
    return said
