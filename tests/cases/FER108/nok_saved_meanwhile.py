"""A save in the background goes by the default group, and so does the barrier behind it."""

from typing import Any

import torch.distributed as dist
import torch.distributed.checkpoint as dcp


def save(state: dict[str, Any], path: str) -> Any:
    saved = dcp.async_save(state, checkpoint_id=path)
    if dist.get_rank() == 0:
        print("saving", path)
    dist.barrier()  # error: FER108
    return saved
