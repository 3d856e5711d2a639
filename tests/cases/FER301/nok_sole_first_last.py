"""Arms for a sole stage, the first and the last."""

import torch
import torch.distributed as dist
from megatron.core import parallel_state


def share(tokens: torch.Tensor, labels: torch.Tensor, longest: torch.Tensor) -> dict[str, torch.Tensor]:
    group = parallel_state.get_tensor_model_parallel_group()
    source = parallel_state.get_tensor_model_parallel_src_rank()

    def send(x: torch.Tensor) -> None:
        dist.broadcast(x, source, group=group)

    if parallel_state.get_pipeline_model_parallel_world_size() == 1:
        send(tokens)
        send(labels)
        send(longest)
    elif parallel_state.is_pipeline_first_stage():
        send(tokens)  # error: FER301
        send(longest)
    elif parallel_state.is_pipeline_last_stage():
        send(labels)
        send(longest)
    return {"tokens": tokens, "labels": labels, "longest": longest}


def step(tokens: torch.Tensor, labels: torch.Tensor, longest: torch.Tensor) -> int:
    return int(share(tokens, labels, longest)["longest"])
