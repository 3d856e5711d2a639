"""A ring on gloo, which waits for nobody in an `isend`."""

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("gloo")
    on_cpu = dist.new_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    block = torch.ones(4)
    received = torch.empty_like(block)
    sending = dist.isend(block, (rank + 1) % size)
    receiving = dist.irecv(received, (rank - 1) % size)
    sending.wait()
    receiving.wait()
    dist.all_reduce(received, group=on_cpu)
