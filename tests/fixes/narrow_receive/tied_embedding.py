import torch
import torch.distributed as dist


def tie(weight: torch.Tensor, pp_group: dist.ProcessGroup, last: int) -> None:
    if dist.get_rank(pp_group) == 0:
        dist.send(weight, dst=last)
    else:
        # the embedding of the first stage
        dist.recv(weight, src=dist.get_global_rank(pp_group, 0))
