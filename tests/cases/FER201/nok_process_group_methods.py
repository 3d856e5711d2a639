"""Tensors that ranks make of another size, handed to the methods of a process group in a list."""

import torch
import torch.distributed as dist


def sum_up(pg, rank: int) -> None:
    width = 2 if rank == 0 else 10
    tensor = torch.randn(20, width)
    pg.allreduce([tensor]).wait()  # error: FER201


def scatter_sums(pg) -> None:
    rank = dist.get_rank()
    output = torch.zeros(4 + rank)
    pg._reduce_scatter_base(output, torch.ones(4 * dist.get_world_size())).wait()  # error: FER201
