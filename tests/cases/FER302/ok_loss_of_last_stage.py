"""The loss of the last stage, which all stages get along the pipeline."""

import torch
import torch.distributed as dist
from megatron.core import parallel_state


def average(losses: list[torch.Tensor]) -> torch.Tensor:
    if parallel_state.is_pipeline_last_stage():
        loss = torch.stack(losses).mean()
    else:
        loss = torch.zeros(())
    source = parallel_state.get_pipeline_model_parallel_last_rank()
    dist.broadcast(loss, source, group=parallel_state.get_pipeline_model_parallel_group())
    dist.all_reduce(loss, group=parallel_state.get_data_parallel_group())
    return loss
