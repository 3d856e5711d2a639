"""Sender and receivers walk different dicts side by side."""

import torch
import torch.distributed as dist


def load(model: torch.nn.Module, full: dict[str, torch.Tensor]) -> None:
    local = model.state_dict()
    if dist.get_rank() == 0:
        for name, target in local.items():
            tensor = full[name]
            dist.broadcast(tensor, src=0)
            target.copy_(tensor)
    else:
        for tensor in local.values():
            dist.broadcast(tensor, src=0)
