import os

import torch
import torch.distributed as dist


def prepare(path: str) -> None:
    if dist.get_rank() == 0:
        os.makedirs(path, exist_ok=True)
        torch.save({}, os.path.join(path, "empty.pt"))
        # the others wait for the folder
        dist.barrier()
    print("ready")
