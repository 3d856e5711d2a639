"""What stands above the barrier speaks of it."""

import torch
import torch.distributed as dist


def export(states: list[torch.Tensor]) -> torch.Tensor | None:
    try:
        total = torch.cat(states).sum()
        dist.all_reduce(total)
    except Exception as error:
        print(f"no state: {error}")
        # the others read what was said
        dist.barrier()
        raise
    return total
