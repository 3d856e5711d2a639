"""A ring on GPUs, beside a group for what is on the CPU."""

import torch
import torch.distributed as dist


def main() -> None:
    dist.init_process_group("nccl")
    on_cpu = dist.new_group(backend="gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    block = torch.ones(4, device="cuda")
    received = torch.empty_like(block)
    sending = dist.isend(block, (rank + 1) % size)  # error: FER303
    receiving = dist.irecv(received, (rank - 1) % size)
    sending.wait()
    receiving.wait()
    dist.all_reduce(received.cpu(), group=on_cpu)
