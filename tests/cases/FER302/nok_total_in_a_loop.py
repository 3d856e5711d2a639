"""Filled on the last stage, batch by batch; every stage decides by it."""

import torch
import torch.distributed as dist


class Evaluator:
    def __init__(self, pp_group: dist.ProcessGroup, dp_group: dist.ProcessGroup) -> None:
        self.dp_group = dp_group
        self.is_last_stage = dist.get_rank(pp_group) == dist.get_world_size(pp_group) - 1
        self.best = 0.0

    def run(self, outputs: list[torch.Tensor]) -> bool:
        total = torch.zeros(1)
        for output in outputs:
            if self.is_last_stage:
                total += output
        dist.all_reduce(total, group=self.dp_group)  # error: FER302
        return total.item() > self.best
