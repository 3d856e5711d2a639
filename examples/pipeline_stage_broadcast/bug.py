"""A batch of packed samples, broadcast over the tensor-parallel ranks of the first and the last stage."""

from __future__ import annotations

import torch
import torch.distributed as dist
from megatron.core import parallel_state


def share(tensor: torch.Tensor) -> None:
    """Broadcast from the first tensor-parallel rank of this stage to its others."""
    source = parallel_state.get_tensor_model_parallel_src_rank()
    dist.broadcast(tensor, source, group=parallel_state.get_tensor_model_parallel_group())


def get_batch(iterator, length: int, samples: int) -> dict[str, torch.Tensor | None]:
    """This rank's batch. Attention needs `boundaries` on every stage, `tokens` and `labels` belong to one each."""
    device = torch.device("cuda", torch.cuda.current_device())
    if parallel_state.get_tensor_model_parallel_rank() == 0:
        data = next(iterator)
        tokens = data["tokens"].to(device)
        labels = data["labels"].to(device)
        boundaries = data["boundaries"].to(device)
        if parallel_state.get_pipeline_model_parallel_world_size() == 1:
            share(tokens)
            share(labels)
            share(boundaries)
        elif parallel_state.is_pipeline_first_stage():
            share(tokens)
            share(boundaries)
        elif parallel_state.is_pipeline_last_stage():
            share(labels)
            share(boundaries)
    else:
        tokens = torch.empty(length, dtype=torch.int64, device=device)
        labels = torch.empty(length, dtype=torch.int64, device=device)
        boundaries = torch.empty(samples + 1, dtype=torch.int32, device=device)
        if parallel_state.get_pipeline_model_parallel_world_size() == 1:
            share(tokens)
            share(labels)
            share(boundaries)
        elif parallel_state.is_pipeline_first_stage():
            share(tokens)
            share(boundaries)
        elif parallel_state.is_pipeline_last_stage():
            share(labels)
            share(boundaries)
    return {
        "tokens": tokens if parallel_state.is_pipeline_first_stage() else None,
        "labels": labels if parallel_state.is_pipeline_last_stage() else None,
        "boundaries": boundaries,
    }
