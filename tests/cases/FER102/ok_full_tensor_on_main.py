"""Sharded parameters made whole on one rank."""

import torch
import torch.distributed as dist
from torch import nn


def export(model: nn.Module, path: str) -> None:
    whole = {}
    for name, parameter in model.named_parameters():
        full = parameter.full_tensor()
        if dist.get_rank() == 0:
            whole[name] = full.cpu()
    if dist.get_rank() == 0:
        torch.save(whole, path)
