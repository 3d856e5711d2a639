"""A group that a caller hands over, and that is None by default."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


class Shared:
    def __init__(self, group: dist.ProcessGroup | None = None) -> None:
        self.group = group

    def share(self, x: torch.Tensor) -> torch.Tensor:
        dist.broadcast(x, src=0, group=self.group)
        return x


def share(x: torch.Tensor, group: dist.ProcessGroup | None = None) -> torch.Tensor:
    dist.broadcast(x, 0, group)
    return x


def in_turn(tensors: list[torch.Tensor], group: dist.ProcessGroup) -> None:
    for rank in range(dist.get_world_size(group)):
        dist.broadcast(tensors[rank], src=rank, group=group)


def run(x: torch.Tensor) -> torch.Tensor:
    mesh = init_device_mesh(x.device.type, (2, 2), mesh_dim_names=("dp", "tp"))
    group = mesh.get_group("tp")
    in_turn([x, x], group)
    return share(x, group) + Shared(group).share(x)
