"""A state is kept where there is space left, else saved by all ranks; and dropped where little is left."""

import shutil
import torch
import torch.distributed as dist


def keep(state: torch.Tensor, size: int, kept: list[torch.Tensor], saved: list[float]) -> None:
    # room for each of the processes
    if shutil.disk_usage("/").free > size * 2:
        kept.append(state)
    else:
        total = state.sum()
        dist.all_reduce(total)
        saved.append(total.item())


def drop(kept: list[torch.Tensor], least: int) -> float:
    if least >= shutil.disk_usage("/").free:
        kept.clear()
        total = torch.tensor([1.0])
        dist.all_reduce(total)
        return total.item()
    return 0.0


def example() -> list[object]:
    kept: list[torch.Tensor] = []
    saved: list[float] = []
    keep(torch.tensor([1.0, 2.0]), 1, kept, saved)
    keep(torch.tensor([1.0, 2.0]), 1 << 80, kept, saved)
    return [len(kept), saved, drop(kept, 1 << 80)]
