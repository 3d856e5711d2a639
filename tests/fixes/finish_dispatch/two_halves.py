"""The rank that has the data and those that receive it dispatch on the stage, each for itself."""

import torch
import torch.distributed as dist
from megatron.core import parallel_state


def share(tensor: torch.Tensor) -> None:
    source = parallel_state.get_tensor_model_parallel_src_rank()
    dist.broadcast(tensor, source, group=parallel_state.get_tensor_model_parallel_group())


def get_batch(iterator, length: int, samples: int) -> dict[str, torch.Tensor | None]:
    if parallel_state.get_tensor_model_parallel_rank() == 0:
        data = next(iterator)
        batch = {"tokens": data["tokens"].cuda(), "labels": data["labels"].cuda(), "bounds": data["bounds"].cuda()}
        if parallel_state.is_pipeline_first_stage():
            share(batch["tokens"])
            share(batch["bounds"])

        elif parallel_state.is_pipeline_last_stage():
            # the loss is computed here
            share(batch["labels"])
            share(batch["bounds"])

    else:
        tokens = torch.empty(length, dtype=torch.int64)
        labels = torch.empty(length, dtype=torch.int64)
        bounds = torch.empty(samples + 1, dtype=torch.int32)
        if parallel_state.is_pipeline_first_stage():
            labels = None
            share(tokens)
            share(bounds)

        elif parallel_state.is_pipeline_last_stage():
            tokens = None
            share(labels)
            share(bounds)

        batch = {
            "tokens": tokens if parallel_state.is_pipeline_first_stage() else None,
            "labels": labels if parallel_state.is_pipeline_last_stage() else None,
            "bounds": bounds,
        }
    batch["lengths"] = batch["bounds"].diff()
    return batch
