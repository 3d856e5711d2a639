"""Sequence boundaries that the stages between never get."""

import torch
import torch.distributed as dist
from megatron.core import parallel_state


def share(boundaries: torch.Tensor) -> torch.Tensor:
    group = parallel_state.get_tensor_model_parallel_group()
    source = parallel_state.get_tensor_model_parallel_src_rank()
    if parallel_state.is_pipeline_first_stage():
        dist.broadcast(boundaries, source, group=group)  # error: FER301
    elif parallel_state.is_pipeline_last_stage():
        dist.broadcast(boundaries, source, group=group)
    return boundaries.diff()
