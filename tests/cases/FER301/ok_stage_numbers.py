"""Stages by number, in a mesh."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh


def share(mesh: DeviceMesh, scale: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    stage = mesh.get_local_rank("pp")
    group = mesh.get_group("tp")
    dist.broadcast(scale, group=group, group_src=0)
    if stage == 0:
        print("first")
    return x * scale
