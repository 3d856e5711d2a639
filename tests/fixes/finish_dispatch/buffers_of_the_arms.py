"""The buffers are made in the arms, so the stages between make theirs, too."""

import torch
import torch.distributed as dist
from megatron.core import parallel_state


def get_batch(iterator, length: int) -> torch.Tensor:
    group = parallel_state.get_tensor_model_parallel_group()
    source = parallel_state.get_tensor_model_parallel_src_rank()
    if parallel_state.get_tensor_model_parallel_rank() == 0:
        data = next(iterator)
        bounds = data["bounds"].cuda()
        tokens = data["tokens"].cuda()
        if parallel_state.is_pipeline_first_stage():
            dist.broadcast(tokens, source, group=group)
            dist.broadcast(bounds, source, group=group)
        elif parallel_state.is_pipeline_last_stage():
            dist.broadcast(bounds, source, group=group)
    else:
        if parallel_state.is_pipeline_first_stage():
            tokens = torch.empty(length, dtype=torch.int64, device="cuda")
            dist.broadcast(tokens, source, group=group)
            # one more than there are samples
            bounds = torch.empty(length + 1, dtype=torch.int32, device="cuda")
            dist.broadcast(bounds, source, group=group)
        elif parallel_state.is_pipeline_last_stage():
            bounds = torch.empty(length + 1, dtype=torch.int32, device="cuda")
            dist.broadcast(bounds, source, group=group)
    return bounds.diff()
