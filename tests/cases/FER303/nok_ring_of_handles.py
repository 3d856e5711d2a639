"""Rings in which nobody blocks by name: NCCL does."""

import torch
import torch.distributed as dist


def shift(block: torch.Tensor) -> torch.Tensor:
    rank = dist.get_rank()
    size = dist.get_world_size()
    received = torch.empty_like(block)
    work = dist.isend(block, (rank + 1) % size)  # error: FER303
    dist.recv(received, (rank - 1 + size) % size)
    work.wait()
    return received


class Ring:
    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.right = (self.rank + 1) % self.size
        self.left = (self.rank - 1) % self.size

    def turn(self, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        total = keys @ values
        for step in range(self.size):
            if step + 1 < self.size:
                new_keys, new_values = torch.empty_like(keys), torch.empty_like(values)
                works = [dist.isend(keys, self.right)]
                works.append(dist.isend(values, self.right))  # error: FER303
                works.append(dist.irecv(new_keys, self.left))
                works.append(dist.irecv(new_values, self.left))
                for work in works:
                    work.wait()
                keys, values = new_keys, new_values
            total = total + keys @ values
        return total
