"""A save in the background has a group of its own."""

from typing import Any

import torch.distributed as dist
import torch.distributed.checkpoint as dcp


def save(state: dict[str, Any], path: str, group: dist.ProcessGroup) -> Any:
    saved = dcp.async_save(state, checkpoint_id=path, process_group=group)
    if dist.get_rank() == 0:
        print("saving", path)
    dist.barrier()
    return saved
