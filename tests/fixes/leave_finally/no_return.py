"""A way out of the `try` that would not come by what stands behind it."""

import torch
import torch.distributed as dist


def run(total: torch.Tensor) -> float:
    try:
        dist.all_reduce(total)
        return total.item()
    finally:
        dist.destroy_process_group()
