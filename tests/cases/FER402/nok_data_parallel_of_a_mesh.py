"""The data-parallel group of a mesh that has another dimension."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def load(weights: torch.Tensor, ranks: int) -> None:
    mesh = init_device_mesh("cuda", (2, ranks // 2), mesh_dim_names=("dp", "inner"))
    dist.broadcast(weights, src=0, group=mesh.get_group("dp"))  # error: FER402
