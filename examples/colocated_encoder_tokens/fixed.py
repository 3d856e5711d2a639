"""An encoder that runs on all ranks beside a pipelined language model, and the average of its gradients."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh


def count_tokens(mesh: DeviceMesh, labels: torch.Tensor) -> torch.Tensor:
    """How many tokens count in the loss. Labels are there on the last stage only."""
    tokens = torch.zeros(1, device=labels.device)
    if mesh.get_local_rank("pp") == mesh["pp"].size() - 1:
        tokens += (labels != -100).sum()
    last = dist.get_process_group_ranks(mesh.get_group("pp"))[-1]
    dist.broadcast(tokens, src=last, group=mesh.get_group("pp"))
    return tokens


def finalize_gradients(mesh: DeviceMesh, encoder: nn.Module, tokens: torch.Tensor) -> None:
    """Sum gradients and token counts over the replicas, and divide the one by the other."""
    group = mesh.get_group("dp")
    dist.all_reduce(tokens, group=group)
    for parameter in encoder.parameters():
        if parameter.requires_grad:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            dist.all_reduce(parameter.grad, group=group)
            parameter.grad /= tokens.clamp(min=1.0)


def step(mesh: DeviceMesh, encoder: nn.Module, run_pipeline, batch: dict[str, torch.Tensor]) -> None:
    """One training step. `run_pipeline` does forward and backward of the language model on all stages."""
    embedded = encoder(batch["images"])
    # the pipeline stops at its input: the encoder's own backward pass starts from the gradient found there
    inputs = embedded.detach().requires_grad_()
    run_pipeline(inputs, batch)
    tokens = count_tokens(mesh, batch["labels"])
    torch.autograd.backward(embedded, inputs.grad)
    finalize_gradients(mesh, encoder, tokens)
