"""The function that is called in the end does nothing but take leave of the other ranks."""

import torch
import torch.distributed as dist


def tear_down() -> None:
    """Ends the process group."""
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()


def run(work, config: list[float]) -> None:
    try:
        work(config)
        dist.all_reduce(torch.tensor(config))
    finally:
        tear_down()
