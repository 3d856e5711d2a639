"""How often the others come by the barrier is not written there."""

import torch.distributed as dist


def save(values: list[float], write) -> None:
    if dist.get_rank() != 0:
        return
    for value in values:
        write(value)
        dist.barrier()
