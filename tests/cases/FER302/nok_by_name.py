"""Stage and groups told by their names."""

import torch
import torch.distributed as dist


def report(stage_id: int, stages: int, metric: torch.Tensor, dp_group: dist.ProcessGroup) -> torch.Tensor:
    value = metric.mean() if stage_id == stages - 1 else torch.zeros_like(metric)
    dist.all_reduce(value, group=dp_group)  # error: FER302
    return value
