"""What is asked is no limit: ranks on one host would have to agree on a number first."""

import shutil
import torch
import torch.distributed as dist


def keep(state: torch.Tensor) -> None:
    if shutil.disk_usage("/").free % 2:
        total = state.sum()
        dist.all_reduce(total)
