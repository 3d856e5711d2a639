"""A helper takes a group under the same name, and does without where there is none."""

import torch
import torch.distributed as dist


def average(x: torch.Tensor, process_group: dist.ProcessGroup | None = None) -> torch.Tensor:
    dist.all_reduce(x, op=dist.ReduceOp.AVG, group=process_group)
    return x


def statistics(x: torch.Tensor, process_group: dist.ProcessGroup | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    if process_group is None:
        return average(x.mean()), average(x.pow(2).mean())
    mean = average(x.mean(), process_group=process_group)
    spread = average((x - mean).pow(2).mean(), process_group=process_group)
    return mean, spread
