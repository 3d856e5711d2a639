"""Kept for later by every stage."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh


class Tracker:
    def __init__(self, mesh: DeviceMesh) -> None:
        self.mesh = mesh
        self.last = torch.zeros(1)

    def update(self, loss: torch.Tensor) -> None:
        value = torch.full((1,), -1.0)
        if self.mesh.get_local_rank("pp") == 3:
            value = loss.detach()
        dist.all_reduce(value, group=self.mesh.get_group("dp"))  # error: FER302
        self.last = value
