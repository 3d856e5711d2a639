"""A list of operations for one exchange."""

import torch
import torch.distributed as dist


def exchange(block: torch.Tensor, received: torch.Tensor, tp_group: dist.ProcessGroup) -> None:
    place = dist.get_rank(tp_group)
    partner = dist.get_global_rank(tp_group, place ^ 1)
    sending = dist.P2POp(dist.isend, block, partner, tp_group)
    receiving = dist.P2POp(dist.irecv, received, partner, tp_group)
    dist.batch_isend_irecv([sending, receiving])
