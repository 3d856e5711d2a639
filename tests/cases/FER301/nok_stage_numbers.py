"""Stages by number, in a mesh."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh


def share(mesh: DeviceMesh, scale: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    stage = mesh.get_local_rank("pp")
    group = mesh.get_group("tp")
    if stage == 0:
        dist.broadcast(scale, group=group, group_src=0)  # error: FER301
    elif stage == mesh.size(0) - 1:
        dist.broadcast(scale, group=group, group_src=0)
    return x * scale
