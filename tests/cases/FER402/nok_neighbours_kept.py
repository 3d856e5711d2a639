"""Neighbours in a ring, kept by the constructor, in a group that may be of any kind."""

import torch
import torch.distributed as dist


class Ring:
    def __init__(self, group: dist.ProcessGroup | None) -> None:
        self.group = group
        place, size = dist.get_rank(group), dist.get_world_size(group)
        self.following = (place + 1) % size
        self.previous = (place - 1) % size

    def turn(self, out: torch.Tensor, into: torch.Tensor) -> None:
        sent = dist.P2POp(dist.isend, out, self.following, group=self.group)  # error: FER402
        received = dist.P2POp(dist.irecv, into, self.previous, group=self.group)  # error: FER402
        for request in dist.batch_isend_irecv([sent, received]):
            request.wait()
