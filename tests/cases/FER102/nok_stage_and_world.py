"""A loss that only the last stage has, averaged over too many ranks."""

import torch
import torch.distributed as dist
from megatron.core import parallel_state


def mean_loss(loss: torch.Tensor) -> torch.Tensor:
    if parallel_state.is_pipeline_last_stage():
        dist.all_reduce(loss)  # error: FER102
    return loss
