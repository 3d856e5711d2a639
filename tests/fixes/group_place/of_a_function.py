"""The group is what a function returns: it is not to be named twice."""

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("dp", "tp"))


def group_of(axis: str) -> dist.ProcessGroup:
    return mesh.get_group(axis)


def tensors(x: torch.Tensor, parts: list[torch.Tensor]) -> None:
    dist.broadcast(x, src=0, group=group_of("tp"))
    dist.broadcast(x, 0, group_of("tp"), async_op=False)
    dist.reduce(x, 0, dist.ReduceOp.MAX, group_of("tp"))  # the largest
    dist.gather(x, parts, 3, group_of("tp"))
    dist.scatter(
        x,
        parts,
        0,
        group_of("tp"),
    )


def objects(of_all: list[Any], mine: list[Any]) -> None:
    dist.broadcast_object_list(of_all, 0, group_of("tp"), torch.device("cpu"))
    dist.gather_object(mine, of_all, 0, group_of("tp"))
    dist.scatter_object_list(scatter_object_output_list=mine, src=0, group=group_of("tp"))
