"""The peer is worked out: a test for it would have to be, too."""

import torch
import torch.distributed as dist


def tie(weight: torch.Tensor, pp_group: dist.ProcessGroup) -> None:
    if dist.get_rank(pp_group) == 0:
        dist.send(weight, dst=dist.get_global_rank(pp_group, dist.get_world_size(pp_group) - 1))
    else:
        dist.recv(weight, src=dist.get_global_rank(pp_group, 0))
