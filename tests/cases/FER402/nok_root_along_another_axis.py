"""The last stage sends a loss to the ranks that share a layer with it."""

import torch
import torch.distributed as dist
from megatron.core import parallel_state


def spread(loss: torch.Tensor) -> None:
    last = parallel_state.get_pipeline_model_parallel_last_rank()
    dist.broadcast(loss, last, group=parallel_state.get_tensor_model_parallel_group())  # error: FER402
