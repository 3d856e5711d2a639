"""The place in a dimension of a mesh."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def collect(parts: list[torch.Tensor], mine: torch.Tensor) -> None:
    mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("dp", "tp"))
    leader = mesh.get_local_rank("tp") // 4
    group = mesh.get_group("tp")
    dist.gather(mine, parts, dst=leader, group=group)  # error: FER402
