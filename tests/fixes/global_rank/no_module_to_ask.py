"""`get_global_rank` is not at hand here."""

import torch
from torch.distributed import P2POp, ProcessGroup, batch_isend_irecv, get_rank, get_world_size, irecv, isend


def turn(block: torch.Tensor, received: torch.Tensor, cp_group: ProcessGroup) -> None:
    place, size = get_rank(cp_group), get_world_size(cp_group)
    send = P2POp(isend, block, (place + 1) % size, cp_group)
    receive = P2POp(irecv, received, (place - 1) % size, cp_group)
    for work in batch_isend_irecv([send, receive]):
        work.wait()
