"""Worked out of the reduced value, and read on the stage that has it."""

import torch
import torch.distributed as dist


def perplexity(pp_rank: int, pp_size: int, losses: list[torch.Tensor], tp_group: dist.ProcessGroup) -> None:
    loss = sum(losses) if pp_rank == pp_size - 1 else torch.zeros(1)
    dist.all_reduce(loss, group=tp_group)
    mean = loss / len(losses)
    value = mean.exp().item()
    if pp_rank == pp_size - 1:
        print(value)
