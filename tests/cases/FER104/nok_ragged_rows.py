"""One collective for every valid row."""

import torch
import torch.distributed as dist


def rows(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    valid = batch["inputs"][batch["mask"].bool()]
    total = torch.zeros(batch["inputs"].size(-1))
    for row in valid:
        total += row
        dist.all_reduce(total)  # error: FER104
    return total
