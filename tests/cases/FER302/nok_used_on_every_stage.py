"""Worked out of the reduced value, and returned on every stage."""

import torch
import torch.distributed as dist


def perplexity(pp_rank: int, pp_size: int, losses: list[torch.Tensor], tp_group: dist.ProcessGroup) -> float:
    loss = sum(losses) if pp_rank == pp_size - 1 else torch.zeros(1)
    dist.all_reduce(loss, group=tp_group)  # error: FER302
    mean = loss / len(losses)
    value = mean.exp().item()
    if pp_rank == pp_size - 1:
        print(value)
    return value
