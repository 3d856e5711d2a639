"""A place in a group that a caller hands over beside it."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def push(x: torch.Tensor, dst: int, group: dist.ProcessGroup) -> None:
    dist.send(x, dst, group=group)


def pull(x: torch.Tensor, src: int, group: dist.ProcessGroup) -> None:
    dist.recv(x, src, group=group)


def run(x: torch.Tensor) -> torch.Tensor:
    mesh = init_device_mesh(x.device.type, (2, 2), mesh_dim_names=("dp", "pp"))
    group = mesh.get_group("pp")
    place = dist.get_rank(group)
    if place == 0:
        push(x, place + 1, group)
    else:
        pull(x, place - 1, group)
    return x
