"""Sender and receivers walk different dicts side by side."""

import torch
import torch.distributed as dist


def load(model: torch.nn.Module, full: dict[str, torch.Tensor]) -> None:
    local = model.state_dict()
    if dist.get_rank() == 0:
        for (name, tensor), target in zip(full.items(), local.values()):
            dist.broadcast(tensor, src=0)  # error: FER106
            target.copy_(tensor)
    else:
        for tensor in local.values():
            dist.broadcast(tensor, src=0)
