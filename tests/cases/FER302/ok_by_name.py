"""A group of which nothing is known may span the stages."""

import torch
import torch.distributed as dist


def report(stage_id: int, stages: int, metric: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
    value = metric.mean() if stage_id == stages - 1 else torch.zeros_like(metric)
    dist.all_reduce(value, group=group)
    return value
