"""Made where they are shared: the stages between have no buffers to receive into."""

import torch
import torch.distributed as dist
from megatron.core import parallel_state


def share_bounds(length: int) -> torch.Tensor:
    group = parallel_state.get_tensor_model_parallel_group()
    source = parallel_state.get_tensor_model_parallel_src_rank()
    if parallel_state.is_pipeline_first_stage():
        bounds = torch.empty(length, dtype=torch.int32)
        dist.broadcast(bounds, source, group=group)
    elif parallel_state.is_pipeline_last_stage():
        bounds = torch.empty(length, dtype=torch.int32)
        dist.broadcast(bounds, source, group=group)
    return bounds
