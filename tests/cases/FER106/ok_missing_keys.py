"""Keys that only one checkpoint has are broadcast one by one."""

import torch
import torch.distributed as dist


def fill(model: dict[str, torch.Tensor], loaded: dict[str, torch.Tensor]) -> None:
    missing = model.keys() - loaded.keys()
    for name in sorted(missing):
        dist.broadcast(model[name], src=0)
