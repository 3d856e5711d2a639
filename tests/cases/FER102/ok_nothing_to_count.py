"""A reduction left out where there is nothing to reduce."""

import torch
import torch.distributed as dist


def add_up(batch: dict[str, torch.Tensor], seen: torch.Tensor) -> None:
    valid = batch["labels"][batch["labels"] != -100]
    count = torch.tensor([valid.numel()])
    dist.all_reduce(count)
    seen += count
