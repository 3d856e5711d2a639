"""A count that a helper brings to all stages."""

import torch
import torch.distributed as dist
from megatron.core import parallel_state


def along_the_pipeline(count: torch.Tensor) -> None:
    dist.all_reduce(count, group=parallel_state.get_pipeline_model_parallel_group())


def enough(tokens: torch.Tensor, wanted: int) -> bool:
    if not parallel_state.is_pipeline_first_stage():
        count = torch.zeros(1)
    else:
        count = tokens.ne(0).sum()
    dist.all_reduce(count, group=parallel_state.get_data_parallel_group())
    along_the_pipeline(count)
    if count.item() < wanted:
        return False
    return True
