"""A stop flag that all share, and a reason that only rank 0 knows."""

import torch
import torch.distributed as dist


def check_stop(requested: bool) -> bool:
    reason = None
    if dist.get_rank() == 0 and requested:
        reason = "asked to stop"
    flag = torch.tensor([int(reason is not None)])
    dist.broadcast(flag, src=0)
    stop = bool(flag.item())
    if stop and reason is not None:
        box = [reason]
        dist.broadcast_object_list(box, src=0)  # error: FER102
        print(box[0])
    return stop
